"""What passes can rely on, and what they are told when they get it wrong."""

from __future__ import annotations

import numpy as np
import pytest

from swath.errors import InternalError
from swath.graph.ir import Graph
from swath.graph.ops import Binary, Reshape, Slice, Unary
from swath.graph.ops.base import Op
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph
from swath.graph.types import DType
from swath.passes.rewriter import Inputs, Made, Rewriter, rewrite
from swath.passes.signed_zeros import shown_signed_zeros
from swath.passes.simplify import simplify

GRAPH = parse_graph(
    """
    input %x: f32[1,4] @candidate
    constant %c: f32[4] @once = [2.0, 2.0, 2.0, 2.0]
    %y: f32[1,4] @candidate = unary(%x, function="exp")  # from layer model.py:3 "y = x.exp()"
    %z: f32[1,4] @candidate = binary(%y, %c, function="add")
    return %z
    """
)


def test_keeps_what_no_rule_changes() -> None:
    after = rewrite(GRAPH, ())
    assert after.nodes == GRAPH.nodes
    assert after.outputs == GRAPH.outputs


def test_new_values_are_named_after_what_they_make() -> None:
    def exp_twice(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
        if op != Unary("exp"):
            return None
        number = rewriter.number(3.0, DType.FLOAT32)
        assert rewriter.number(3.0, DType.FLOAT32) is number
        half = rewriter.add(Binary("mul"), rewriter.add(Binary("mul"), *inputs, number), number)
        return Unary("tanh"), (half,)

    after = rewrite(GRAPH, (exp_twice,))
    assert print_graph(after, origins=False) == (
        "input %x: f32[1,4] @candidate\n"
        "constant %c: f32[4] @once = [2.0, 2.0, 2.0, 2.0]\n"
        "constant %y.constant: f32[] @once = 3.0\n"
        '%y.binary: f32[1,4] @candidate = binary(%x, %y.constant, function="mul")\n'
        '%y.binary_1: f32[1,4] @candidate = binary(%y.binary, %y.constant, function="mul")\n'
        '%y: f32[1,4] @candidate = unary(%y.binary_1, function="tanh")\n'
        '%z: f32[1,4] @candidate = binary(%y, %c, function="add")\n'
        "return %z\n"
    )
    assert all(node.origin == GRAPH.nodes[0].origin for node in after.nodes[:3])


def test_knows_constants_of_one_number() -> None:
    graph = parse_graph(
        """
        input %x: f32[1] @candidate
        constant %two: f32[2] @once = [2.0, 2.0]
        constant %zeros: f32[2] @once = [0.0, -0.0]
        constant %large: i64[1] @once = [9007199254740993]
        constant %none: f32[0] @once = []
        %fill: f32[9] @once = fill(shape=[9], value=0.5, dtype=f32)
        return %x, %fill
        """
    )
    rewriter = Rewriter(graph)
    rewriter.run()
    found = [rewriter.scalar(value) for value in graph.constant_values]
    assert found == [2.0, None, None, None]
    assert rewriter.scalar(graph.outputs[1]) == 0.5
    assert rewriter.scalar(graph.inputs[0]) is None


def test_refuses_another_type() -> None:
    def drop(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
        return (Reshape((4,)), inputs) if op == Unary("exp") else None

    with pytest.raises(InternalError, match=r"made f32\[4\].*gives f32\[1,4\]") as caught:
        rewrite(GRAPH, (drop,))
    assert caught.value.problem.id == "SW905"
    assert "pass developer" in str(caught.value)


def test_refuses_rules_without_an_end() -> None:
    def turn(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
        other = {"exp": "tanh", "tanh": "exp"}
        return (Unary(other[op.function]), inputs) if isinstance(op, Unary) else None

    with pytest.raises(InternalError, match="100 times without an end") as caught:
        rewrite(GRAPH, (turn,))
    assert caught.value.problem.id == "SW904"


def test_does_not_narrow_the_row_space() -> None:
    """A part that is the same in all rows can't stand for a slice that has rows."""
    graph = parse_graph(
        """
        input %x: f32[1,2] @candidate
        constant %c: f32[1,2] @once = [1.0, 2.0]
        %all: f32[1,4] @candidate = concat(%x, %c, axis=1)
        %part: f32[1,2] @candidate = slice(%all, axis=1, start=2, stop=4)
        return %part
        """
    )

    def part(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
        node = rewriter.producer(inputs[0])
        return node.inputs[1] if isinstance(op, Slice) and node else None

    assert rewrite(graph, (part,)).nodes == graph.nodes


def test_finds_where_the_sign_of_a_zero_shows() -> None:
    graph = parse_graph(
        """
        input %x: f32[1] @candidate
        %a: f32[1] @candidate = unary(%x, function="tanh")
        %b: f32[1] @candidate = unary(%a, function="reciprocal")
        %c: f32[1] @candidate = unary(%x, function="square")
        %d: f32[1] @candidate = binary(%c, %c, function="div")
        %e: f32[1] @candidate = unary(%x, function="sin")
        return %b, %d, %e
        """
    )
    shown = {value.name for value in shown_signed_zeros(graph)}
    assert shown == {"x", "a", "c"}


def test_zero_plus_x_is_x_only_where_the_sign_does_not_show() -> None:
    text = """
        input %x: f32[1] @candidate
        constant %zero: f32[] @once = 0.0
        %sum: f32[1] @candidate = binary(%x, %zero, function="add")
        %y: f32[1] @candidate = unary(%sum, function="FUNCTION")
        return %y
        """
    assert len(simplified(text.replace("FUNCTION", "sigmoid")).nodes) == 1
    assert len(simplified(text.replace("FUNCTION", "reciprocal")).nodes) == 2


def simplified(text: str) -> Graph:
    """The graph of a text behind `simplify`."""
    return simplify(parse_graph(text))


def test_arrays_of_constants() -> None:
    rewriter = Rewriter(GRAPH)
    (constant,) = GRAPH.constant_values
    array = rewriter.array(constant)
    assert array is not None
    np.testing.assert_array_equal(array, np.full(4, 2, np.float32))
    assert rewriter.array(GRAPH.inputs[0]) is None
