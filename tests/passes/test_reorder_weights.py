"""`reorder_weights`: which moves go into the weight, and that the numbers stay."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from swath.graph.interpreter import interpret
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import Concat, Linear, Permute, Reshape, Slice, Take, Unary
from swath.graph.types import DType, Space, TensorType
from swath.graph.verifier import verify
from swath.passes.reorder_weights import reorder_weights

RANDOM = np.random.default_rng(5)


def start(*shapes: tuple[int, ...]) -> tuple[GraphBuilder, list[Value]]:
    """A builder with inputs."""
    builder = GraphBuilder()
    types = [TensorType(DType.FLOAT32, shape, Space.CANDIDATE) for shape in shapes]
    return builder, [builder.input("x", type_) for type_ in types]


def linear(builder: GraphBuilder, x: Value) -> Value:
    """A linear of two columns."""
    shape = (2, x.type.static_shape[-1])
    array = RANDOM.standard_normal(shape).astype(np.float32)
    weight = builder.constant("w", array, TensorType(DType.FLOAT32, shape, Space.ONCE))
    return builder.add(Linear(), x, weight)


def reordered(graph: Graph) -> Counter[str]:
    """The nodes by op after the pass, once its numbers are those of the graph."""
    result = reorder_weights(graph)
    verify(result, "reorder_weights")
    row = [
        RANDOM.standard_normal(value.type.static_shape).astype(np.float32) for value in graph.inputs
    ]
    expected, actual = (interpret(g, row, float64=True) for g in (graph, result))
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)
    return Counter(node.op.name for node in result.nodes)


def test_take_behind_concat() -> None:
    builder, (a, b) = start((1, 4), (1, 3))
    moved = builder.add(Take(1, (3, 1, 0, 2)), a)
    graph = builder.build([linear(builder, builder.add(Concat(1), b, moved))])
    assert reordered(graph) == {"concat": 1, "linear": 1}


def test_an_element_read_twice_gets_both_columns() -> None:
    builder, (x,) = start((1, 4))
    graph = builder.build([linear(builder, builder.add(Take(1, (3, 1, 0, 2, 1, 1)), x))])
    assert reordered(graph) == {"linear": 1}


def test_a_choice_of_elements_stays() -> None:
    builder, (x,) = start((1, 4))
    graph = builder.build([linear(builder, builder.add(Take(1, (3, 1)), x))])
    assert reordered(graph) == {"take": 1, "linear": 1}


def test_all_linears_of_the_value_are_changed() -> None:
    builder, (x,) = start((1, 2, 3))
    flat = builder.add(Reshape((1, 6)), builder.add(Permute((0, 2, 1)), x))
    graph = builder.build([linear(builder, flat), linear(builder, flat)])
    assert reordered(graph) == {"reshape": 1, "linear": 2}


def test_a_value_that_others_read_stays() -> None:
    builder, (x,) = start((1, 2, 3))
    flat = builder.add(Reshape((1, 6)), builder.add(Permute((0, 2, 1)), x))
    graph = builder.build([linear(builder, flat), builder.add(Unary("exp"), flat)])
    assert reordered(graph)["permute"] == 1


def test_several_rows_stay() -> None:
    builder, (x,) = start((1, 2, 3))
    graph = builder.build([linear(builder, builder.add(Permute((0, 2, 1)), x))])
    assert reordered(graph)["permute"] == 1


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_moves(data: st.DataObject) -> None:
    builder, values = start((1, 2, 6), (1, 3, 4), (1, 12))
    parts = [_moved(data, builder, value) for value in values]
    chosen = data.draw(st.lists(st.sampled_from(parts), min_size=1, max_size=4))
    x = _moved(data, builder, builder.add(Concat(1), *chosen))
    reordered(builder.build([linear(builder, x)]))


def _moved(data: st.DataObject, builder: GraphBuilder, value: Value) -> Value:
    """The elements of a value after some moves, as [1, n]."""
    for _ in range(data.draw(st.integers(0, 3))):
        shape = value.type.static_shape
        axis = data.draw(st.integers(0, len(shape) - 1))
        way = data.draw(st.sampled_from(["permute", "take", "split", "slice"]))
        if way == "permute":
            axes = data.draw(st.permutations(range(len(shape))))
            value = builder.add(Permute(tuple(axes)), value)
        elif way == "take":
            order = data.draw(st.permutations(range(shape[axis])))
            value = builder.add(Take(axis, tuple(order)), value)
        elif way == "split" and shape[axis] % 2 == 0:
            halves = (*shape[:axis], 2, shape[axis] // 2, *shape[axis + 1 :])
            value = builder.add(Reshape(halves), value)
        elif way == "slice" and shape[axis] > 1:
            value = builder.add(Slice(axis, 0, shape[axis] - 1), value)
    return builder.add(Reshape((1, prod(value.type.static_shape))), value)
