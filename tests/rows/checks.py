"""Runtime checks of a debatched graph, on random inputs.

row form    the row form, run row by row, gives what the batched graph gives
replaced    rows other than one are replaced: that row's outputs stay. Blind to row 0 if it stays
rolled      the rows are rolled: the outputs roll along. Blind to mixing that treats rows alike
"""

from __future__ import annotations

import numpy as np

from swath.graph.interpreter import bound_shape, interpret, interpret_rows, take_row
from swath.graph.ir import Array, Graph, Value
from swath.graph.ops.base import RowAxis
from swath.graph.types import DType
from swath.rows import Debatched

RAGGED = 9


def random_inputs(graph: Graph, batch: int, rng: np.random.Generator) -> list[Array]:
    """Inputs for `batch` rows; integers are ids in [0, 3), or offsets of bags by their name."""
    return [_random_input(value, batch, rng) for value in graph.inputs]


def _random_input(value: Value, batch: int, rng: np.random.Generator) -> Array:
    shape = tuple(RAGGED if size is None else size for size in bound_shape(value.type, batch))
    if value.name in ("offsets", "ends"):
        inner = np.sort(rng.integers(0, RAGGED + 1, max(batch - 1, 0)))
        return np.concatenate([[0], inner, [RAGGED]])[: shape[0]].astype(np.int64)
    if value.type.dtype is DType.INT64:
        return rng.integers(0, 3, shape)
    return rng.standard_normal(shape).astype(np.float32)


def assert_row_form(graph: Graph, form: Debatched, inputs: list[Array], batch: int) -> None:
    expected = interpret(graph, inputs, batch)
    actual = interpret_rows(form.graph, inputs, batch, form.input_rows, form.output_rows)
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)


def assert_replacing_rows(
    graph: Graph, form: Debatched, inputs: list[Array], batch: int, rng: np.random.Generator
) -> None:
    kept = int(rng.integers(0, batch))
    others = random_inputs(graph, batch, rng)
    changed = [
        _with_row(other, array, row, kept) if row else array
        for array, other, row in zip(inputs, others, form.input_rows, strict=True)
    ]
    before, after = interpret(graph, inputs, batch), interpret(graph, changed, batch)
    for one, other, row in zip(before, after, form.output_rows, strict=True):
        if row is not None:
            one, other = take_row(one, row, kept), take_row(other, row, kept)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)


def assert_rolling_rows(graph: Graph, form: Debatched, inputs: list[Array], batch: int) -> None:
    rolled = [
        _rolled(array, row) if row else array
        for array, row in zip(inputs, form.input_rows, strict=True)
    ]
    before, after = interpret(graph, inputs, batch), interpret(graph, rolled, batch)
    for one, other, row in zip(before, after, form.output_rows, strict=True):
        expected = _rolled(one, row) if row else one
        np.testing.assert_allclose(other, expected, rtol=1e-5, atol=1e-6, equal_nan=True)


def _split(array: Array, row: RowAxis) -> Array:
    size = array.shape[row.axis]
    before, after = array.shape[: row.axis], array.shape[row.axis + 1 :]
    batch = size // (row.pre * row.post)
    return array.reshape(*before, row.pre, batch, row.post, *after)


def _rolled(array: Array, row: RowAxis) -> Array:
    return np.roll(_split(array, row), 3, axis=row.axis + 1).reshape(array.shape)


def _with_row(array: Array, source: Array, row: RowAxis, number: int) -> Array:
    """`array` with the row `number` of `source`."""
    result = _split(array.copy(), row)
    place = (slice(None),) * (row.axis + 1) + (number,)
    result[place] = _split(source, row)[place]
    return result.reshape(array.shape)
