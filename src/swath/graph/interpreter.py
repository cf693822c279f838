"""The reference interpreter: runs a graph op by op with the ops' NumPy references.

Slow and obviously right; it is the oracle of the tests, of `swath compare` and of the fuzzer.

    interpret        a batched graph at a batch size, or one row of a graph in row form
    interpret_rows   a graph in row form for every row of a call
    trace            as `interpret`, and gives every value

Row form of bags: the ids stay whole and `offsets` is the pair (begin, end) of the row's bag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from swath.errors import InternalError, Problem, Where
from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import Embedding, EmbeddingBag, LookupGroup
from swath.graph.ops.base import Op, RowAxis
from swath.graph.types import BatchSize, Dim, DType, RaggedSize, Space, TensorType

Values = dict[Value, Array]


def interpret(
    graph: Graph, inputs: Sequence[Array], batch: int | None = None, *, float64: bool = False
) -> list[Array]:
    """The outputs of the graph.

    `batch` binds the batch sizes of a batched graph; a graph in row form takes none and gets the
    inputs of one row. `float64` computes in double precision whatever the types say. Raises
    InternalError if a reference gives something else than the op's type.
    """
    values = trace(graph, inputs, batch, float64=float64)
    return [values[value] for value in graph.outputs]


def trace(
    graph: Graph, inputs: Sequence[Array], batch: int | None = None, *, float64: bool = False
) -> Values:
    """Every value of the graph by `interpret`."""
    values = _constants(graph, float64)
    values.update(_inputs(graph, inputs, float64))
    for node in graph.nodes:
        _run(node, values, batch, float64)
    return values


def interpret_rows(
    graph: Graph,
    inputs: Sequence[Array],
    batch: int,
    input_rows: Sequence[RowAxis | None],
    output_rows: Sequence[RowAxis | None],
    *,
    float64: bool = False,
) -> list[Array]:
    """The batched outputs of a graph in row form, computed row by row.

    `inputs` are the batched inputs; `input_rows` and `output_rows` say where the batch sits in each
    input and output (None: it has none). Values that are the same in every row are computed once.
    """
    base = _constants(graph, float64)
    whole = _inputs(graph, inputs, float64)
    same = (value for value, row in zip(graph.inputs, input_rows, strict=True) if row is None)
    base.update({value: whole[value] for value in same})
    for node in graph.nodes:
        if node.outputs[0].type.space is Space.ONCE:
            _run(node, base, None, float64)
    bags = _bag_inputs(graph)
    rows = [_row_inputs(whole, row, input_rows, bags) for row in range(batch)]
    results: list[list[Array]] = []
    # A call without rows still has to tell the sizes of its outputs: one blank row does.
    for values in rows or [_blank_inputs(graph, bags, float64)]:
        values.update(base)
        for node in graph.nodes:
            if node.outputs[0] not in values:
                _run(node, values, None, float64)
        results.append([values[value] for value in graph.outputs])
    return [
        _stack(parts, row, batch)
        for parts, row in zip(zip(*results, strict=True), output_rows, strict=True)
    ]


def _run(node: Node, values: Values, batch: int | None, float64: bool) -> None:
    op = node.op if batch is None else node.op.bind(batch)
    # The offsets of a row are the pair (begin, end), whatever the model gives.
    if isinstance(op, EmbeddingBag) and node.inputs[2].type.space not in (None, Space.ONCE):
        op = replace(op, include_last=True)
    if float64:
        op = _in_float64(op)
    with np.errstate(all="ignore"):
        arrays = op.reference(tuple(values[value] for value in node.inputs))
    for value, array in zip(node.outputs, arrays, strict=True):
        _check(node, value, array, batch, float64)
        values[value] = _wide(array) if float64 else array


def _check(node: Node, value: Value, array: Array, batch: int | None, float64: bool) -> None:
    expected = bound_shape(value.type, batch)
    fits = len(expected) == array.ndim and all(
        size is None or size == actual for size, actual in zip(expected, array.shape, strict=True)
    )
    dtype = value.type.dtype
    same = array.dtype == dtype.numpy or (float64 and dtype.is_float and array.dtype.kind == "f")
    if fits and same:
        return
    found = f"{array.dtype}{list(array.shape)}"
    raise InternalError(
        Problem(
            "SW902",
            f"the reference of `{node.op.name}` gave {found}, not {value!r}",
            "the shape rule and the reference of an op must agree",
            f"op developer: correct `infer` or `reference` of {node.op}",
            Where(module=str(value.origin or "") or None),
        )
    )


def bound_shape(tensor: TensorType, batch: int | None) -> tuple[int | None, ...]:
    """The shape at a batch size; None for a size that only the call knows."""
    return tuple(_bound(dim, batch) for dim in tensor.shape)


def _bound(dim: Dim, batch: int | None) -> int | None:
    if isinstance(dim, RaggedSize):
        return None
    if isinstance(dim, BatchSize):
        return None if batch is None else dim.multiple * batch + dim.extra
    return dim


def _inputs(graph: Graph, inputs: Sequence[Array], float64: bool) -> Values:
    arrays = (np.asarray(array) for array in inputs)
    return {
        value: _wide(array) if float64 else array
        for value, array in zip(graph.inputs, arrays, strict=True)
    }


def _constants(graph: Graph, float64: bool) -> Values:
    tables = _tables(graph) if float64 else set[Value]()
    arrays = {value: graph.constants[value.name] for value in graph.constant_values}
    return {
        value: _wide(array) if float64 and value not in tables else array
        for value, array in arrays.items()
    }


def _tables(graph: Graph) -> set[Value]:
    """Constants that are only looked up: the rows are converted, not the (large) tables."""
    tables: set[Value] = set()
    others: set[Value] = set()
    for node in graph.nodes:
        start, stop = _table_range(node)
        tables.update(node.inputs[start:stop])
        others.update(node.inputs[:start], node.inputs[stop:])
    return tables - others


def _table_range(node: Node) -> tuple[int, int]:
    if isinstance(node.op, Embedding):
        return 0, 1
    if isinstance(node.op, LookupGroup):
        return 1, len(node.inputs)
    return 0, 0


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype == np.float32 else array


def _in_float64(op: Op) -> Op:
    changed = {
        field.name: DType.FLOAT64
        for field in fields(op)
        if getattr(op, field.name) is DType.FLOAT32
    }
    return replace(op, **cast("dict[str, Any]", changed)) if changed else op


def _row_inputs(
    whole: Values, row: int, rows: Sequence[RowAxis | None], bags: dict[Value, Value]
) -> Values:
    values: Values = {}
    for (value, array), axis in zip(whole.items(), rows, strict=True):
        if value in bags:
            count = len(whole[bags[value]])
            values[value] = _bag_pair(array, row, count)
        else:
            values[value] = array if axis is None else take_row(array, axis, row)
    return values


def _bag_pair(offsets: Array, row: int, count: int) -> Array:
    end = offsets[row + 1] if row + 1 < len(offsets) else count
    return np.asarray([offsets[row], end], dtype=offsets.dtype)


def _bag_inputs(graph: Graph) -> dict[Value, Value]:
    """The inputs that are offsets of bags, each with the ragged input that it divides."""
    producers = graph.producers()
    bags: dict[Value, Value] = {}
    for node in graph.nodes:
        if isinstance(node.op, EmbeddingBag):
            offsets = _source(node.inputs[2], producers)
            bags[offsets] = _source(node.inputs[1], producers)
    return bags


def _source(value: Value, producers: dict[Value, Node]) -> Value:
    while value in producers and producers[value].inputs:
        value = producers[value].inputs[0]
    return value


def take_row(array: Array, axis: RowAxis, row: int) -> Array:
    """Row `row` of a batched array, with the batch axis kept at length pre * post."""
    shape = array.shape
    before, after = shape[: axis.axis], shape[axis.axis + 1 :]
    batch = shape[axis.axis] // (axis.pre * axis.post)
    split = array.reshape(*before, axis.pre, batch, axis.post, *after)
    part = split.take(row, axis=axis.axis + 1)
    return part.reshape(*before, axis.pre * axis.post, *after)


def _stack(parts: Sequence[Array], axis: RowAxis | None, batch: int) -> Array:
    if axis is None:
        return parts[0]
    if axis.number:
        parts = [part + axis.number * row for row, part in enumerate(parts)]
    shape = parts[0].shape
    before, after = shape[: axis.axis], shape[axis.axis + 1 :]
    pieces = [part.reshape(*before, axis.pre, axis.post, *after) for part in parts[:batch]]
    if not pieces:
        return np.zeros((*before, 0, *after), parts[0].dtype)
    stacked = np.stack(pieces, axis=axis.axis + 1)
    return stacked.reshape(*before, axis.pre * batch * axis.post, *after)


def _blank_inputs(graph: Graph, bags: dict[Value, Value], float64: bool) -> Values:
    values: Values = {}
    for value in graph.inputs:
        shape = (2,) if value in bags else tuple(size or 0 for size in bound_shape(value.type, 0))
        array = np.zeros(shape, value.type.dtype.numpy)
        values[value] = _wide(array) if float64 else array
    return values
