"""The interpreter on graphs small enough to know the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from swath.errors import InternalError
from swath.graph.interpreter import interpret, interpret_rows, take_row, trace
from swath.graph.ir import Graph, GraphBuilder
from swath.graph.ops import Binary, Cast, EmbeddingBag, Fill, Iota, Reduce, Reshape
from swath.graph.ops.base import Array, Op, RowAxis
from swath.graph.parser import parse_graph
from swath.graph.types import BatchSize, DType, RaggedSize, Space, TensorType

FLOATS = TensorType(DType.FLOAT32, (BatchSize(), 2))


def test_binds_the_batch() -> None:
    builder = GraphBuilder()
    x = builder.input("x", FLOATS)
    flat = builder.add(Reshape((BatchSize(2),)), x)
    zeros = builder.add(Fill((BatchSize(2),), 1.0, DType.FLOAT32))
    graph = builder.build([builder.add(Binary("add"), flat, zeros)])
    for batch in (0, 1, 3):
        (result,) = interpret(graph, [np.ones((batch, 2), np.float32)], batch)
        np.testing.assert_array_equal(result, np.full(2 * batch, 2, np.float32))


def test_computes_in_double_precision_on_request() -> None:
    graph = parse_graph(
        """
        input %x: f32[1] @candidate
        constant %tiny: f32[] @once = 1e-10
        %big: f64[1] @candidate = cast(%x, dtype=f64)
        %small: f32[1] @candidate = cast(%big, dtype=f32)
        %y: f32[1] @candidate = binary(%small, %tiny, function="add")
        return %y
        """
    )
    x = np.ones(1, np.float32)
    assert interpret(graph, [x])[0].dtype == np.float32
    (wide,) = interpret(graph, [x], float64=True)
    assert wide.dtype == np.float64
    assert wide[0] > 1


def test_leaves_tables_as_they_are() -> None:
    graph = parse_graph(
        """
        input %id: i64[1] @candidate
        constant %table: f32[9,2] @once
        %y: f32[1,2] @candidate = embedding(%table, %id)
        return %y
        """,
        {"table": np.arange(18, dtype=np.float32).reshape(9, 2)},
    )
    values = trace(graph, [np.array([4])], float64=True)
    assert values[graph.constant_values[0]].dtype == np.float32
    np.testing.assert_array_equal(values[graph.outputs[0]], [[8.0, 9.0]])


@dataclass(frozen=True)
class Liar(Op):
    """Says that it keeps the type, and doesn't."""

    name: ClassVar[str] = "liar"

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        return inputs

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return (inputs[0][:1],)


def test_checks_references_against_types() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (4,)))
    graph = builder.build([builder.add(Liar(), x)])
    with pytest.raises(InternalError, match=r"gave float32\[1\], not %liar: f32\[4\]") as caught:
        interpret(graph, [np.zeros(4, np.float32)])
    assert caught.value.problem.id == "SW902"


@pytest.mark.parametrize("include_last", [False, True])
def test_rows_of_bags(include_last: bool) -> None:
    """Ids that went through another op; empty bags; more ids than the offsets speak of."""
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    graph, offsets = bags(include_last), np.array([0, 2, 2])
    ids = np.array([1, 2, 3, 4], np.int32)
    offsets = np.append(offsets, 4) if include_last else offsets
    (pooled,) = interpret_rows(graph, [ids, offsets], 3, [None, RowAxis(0)], [RowAxis(0)])
    expected = [table[1] + table[2], [0, 0], table[3] + table[4]]
    np.testing.assert_array_equal(pooled, np.stack([np.asarray(row) for row in expected]))


def bags(include_last: bool) -> Graph:
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    builder = GraphBuilder(row_form=True)
    values = builder.constant("table", table, TensorType(DType.FLOAT32, (6, 2), Space.ONCE))
    ids = builder.input("ids", TensorType(DType.INT32, (RaggedSize("ids"),), Space.POSITION))
    offsets = builder.input("offsets", TensorType(DType.INT64, (1,), Space.CANDIDATE))
    wide = builder.add(Cast(DType.INT64), ids)
    return builder.build([builder.add(EmbeddingBag("sum", include_last), values, wide, offsets)])


def test_rows_in_every_layout() -> None:
    """[pre, batch, post] of inputs and outputs; row numbers; values without rows; no rows."""
    builder = GraphBuilder(row_form=True)
    x = builder.input("x", TensorType(DType.FLOAT32, (3, 6), Space.CANDIDATE))
    weight = builder.input("weight", TensorType(DType.FLOAT32, (6,), Space.ONCE))
    total = builder.add(Reduce("sum", (1,), keepdim=False), x)
    number = builder.add(Iota(1, 0, 1, DType.INT64))
    graph = builder.build([builder.add(Binary("mul"), x, weight), total, weight, number])
    rows = [RowAxis(1, 2, 3), None]
    output_rows = [RowAxis(1, 2, 3), RowAxis(0, 1, 3), None, RowAxis(0, number=1)]
    random = np.random.default_rng(0)
    weights = random.random(6, np.float32)
    for batch in (0, 1, 4):
        array = random.random((3, 6 * batch), np.float32)
        product, sums, same, numbers = interpret_rows(
            graph, [array, weights], batch, rows, output_rows
        )
        split = array.reshape(3, 2, batch, 3)
        expected = split * weights.reshape(1, 2, 1, 3)
        np.testing.assert_array_equal(product, expected.reshape(3, 6 * batch))
        np.testing.assert_allclose(sums.reshape(batch, 3), split.sum(axis=(1, 3)).T, rtol=1e-6)
        np.testing.assert_array_equal(same, weights)
        np.testing.assert_array_equal(numbers, np.arange(batch))


def test_takes_rows() -> None:
    array = np.arange(12).reshape(1, 12)
    np.testing.assert_array_equal(take_row(array, RowAxis(1, 2, 2), 1), [[2, 3, 8, 9]])
