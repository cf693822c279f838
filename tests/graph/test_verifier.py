"""The verifier finds what is wrong, and tells the pass developer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from swath.errors import InternalError
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Reshape, Unary
from swath.graph.parser import parse_graph
from swath.graph.types import BatchSize, DType, Space, TensorType
from swath.graph.verifier import verify, violations

GRAPH = parse_graph(
    """
    input %x: f32[1,4] @candidate
    constant %c: f32[4] @once = [1.0, 2.0, 3.0, 4.0]
    %y: f32[1,4] @candidate = binary(%x, %c, function="add")
    %z: f32[1,4] @candidate = unary(%y, function="exp")
    return %z
    """
)
(X,), (C,), (Y_NODE, Z_NODE) = GRAPH.inputs, GRAPH.constant_values, GRAPH.nodes
Y, Z = Y_NODE.output, Z_NODE.output
ROW = TensorType(DType.FLOAT32, (1, 4), Space.CANDIDATE)


def test_accepts_a_graph() -> None:
    verify(GRAPH, "nothing")


def broken(name: str, type_: TensorType) -> Graph:
    """GRAPH with another last value."""
    value = Value(name, type_)
    nodes = (Y_NODE, Node(Z_NODE.op, (Y,), (value,)))
    return replace(GRAPH, nodes=nodes, outputs=(value,))


BATCHED = Node(Reshape((BatchSize(), 4)), (Y,), (Value("b", ROW),))
CASES = [
    (replace(GRAPH, nodes=(Z_NODE, Y_NODE)), "%y is used before it is defined in: %z"),
    (replace(GRAPH, nodes=(Y_NODE,)), "the graph returns %z, which is not defined"),
    (replace(GRAPH, nodes=(Y_NODE, Z_NODE, Z_NODE)), "%z is defined twice"),
    (broken("y", ROW), "two values have the name %y"),
    (broken("w", ROW.with_shape((4,))), "the op infers f32[1,4] @candidate: %w: f32[4] @candidate"),
    (broken("w", ROW.with_dtype(DType.INT64)), "the op infers f32[1,4] @candidate: %w: i64[1,4]"),
    (broken("w", ROW.with_space(Space.ONCE)), "infers f32[1,4] @candidate: %w: f32[1,4] @once"),
    (broken("w", ROW.with_space(None)), "%w has no row space, others have"),
    (broken("w", ROW.with_shape((BatchSize(), 4))), "%w: f32[B,4] @candidate depends on the batch"),
    (replace(GRAPH, nodes=(*GRAPH.nodes, BATCHED)), "an attribute depends on the batch: %b"),
    (replace(GRAPH, nodes=(*GRAPH.nodes, Node(Reshape((5,)), (Y,), (Value("r", ROW),)))),
     "another number of elements: %r"),
    (replace(GRAPH, nodes=(*GRAPH.nodes, Node(Unary("exp"), (Y, Y), (Value("r", ROW),)))),
     "takes 1 inputs, got 2: %r"),
    (replace(GRAPH, constants={}), "constant %c has no array"),
    (replace(GRAPH, constants={"c": np.ones(3, np.float32)}), "f32[4] @once, its array float32[3]"),
    (replace(GRAPH, constants={**GRAPH.constants, "d": np.ones(1)}), "'d', which is no constant"),
    (replace(GRAPH, constant_values=(replace(C, type=C.type.with_space(Space.CANDIDATE)),)),
     "constant %c is not @once"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "words"), CASES, ids=[words[:40] for _, words in CASES])
def test_finds(graph: Graph, words: str) -> None:
    assert any(words in problem for problem in violations(graph)), list(violations(graph))


def test_speaks_to_the_pass_developer() -> None:
    with pytest.raises(InternalError) as caught:
        verify(replace(GRAPH, nodes=(Z_NODE, Y_NODE)), "turn_around")
    message = str(caught.value)
    assert caught.value.problem.id == "SW906"
    assert "`turn_around` made a graph that is not well formed" in message
    assert "pass developer: correct `turn_around`" in message


def test_counts_what_it_does_not_show() -> None:
    nodes = tuple(Node(Z_NODE.op, (Y,), (Value(f"v{i}", ROW),)) for i in range(15))
    with pytest.raises(InternalError, match="and 6 more"):
        verify(replace(GRAPH, nodes=nodes), "many")
