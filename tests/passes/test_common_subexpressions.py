"""What counts as the same computation."""

from __future__ import annotations

import numpy as np
import pytest

from swath.graph.ir import Graph, GraphBuilder
from swath.graph.ops import Fill, Unary
from swath.graph.parser import parse_graph
from swath.graph.types import DType, Space, TensorType
from swath.passes.common_subexpressions import common_subexpressions


def merged(text: str) -> Graph:
    """The graph of a text behind the pass."""
    return common_subexpressions(parse_graph(text))


@pytest.mark.parametrize(
    ("one", "other", "nodes"),
    [
        ('binary(%x, %y, function="add")', 'binary(%y, %x, function="add")', 1),
        ('binary(%x, %y, function="ne")', 'binary(%y, %x, function="ne")', 1),
        ('binary(%x, %y, function="sub")', 'binary(%y, %x, function="sub")', 2),
        ('binary(%x, %y, function="add")', 'binary(%x, %y, function="mul")', 2),
        ("concat(%x, %y, axis=0)", "concat(%y, %x, axis=0)", 2),
        ("fill(shape=[1], value=0.0, dtype=f32)", "fill(shape=[1], value=-0.0, dtype=f32)", 2),
        ("fill(shape=[1], value=1, dtype=f32)", "fill(shape=[1], value=1, dtype=f64)", 2),
    ],
)
def test_compares_op_and_inputs(one: str, other: str, nodes: int) -> None:
    graph = merged(f"""
        input %x: f32[1] @candidate
        input %y: f32[1] @candidate
        %a = {one}
        %b = {other}
        return %a, %b
        """)
    assert len(graph.nodes) == nodes
    assert (graph.outputs[0] is graph.outputs[1]) == (nodes == 1)


def test_merges_all_results_of_a_node() -> None:
    graph = merged("""
        input %x: f32[1,4] @candidate
        %a, %at = topk(%x, k=1, axis=1, largest=true)
        %b, %bt = topk(%x, k=1, axis=1, largest=true)
        %y = binary(%a, %b, function="add")
        return %y, %bt
        """)
    assert [value.name for value in graph.outputs] == ["y", "at"]


def test_merges_what_becomes_equal() -> None:
    graph = merged("""
        input %x: f32[1] @candidate
        %a = unary(%x, function="exp")
        %b = unary(%x, function="exp")
        %c = unary(%a, function="tanh")
        %d = unary(%b, function="tanh")
        return %c, %d
        """)
    assert len(graph.nodes) == 2


def test_compares_small_constants_by_bits_and_large_ones_by_place() -> None:
    builder = GraphBuilder(row_form=True)
    large = np.zeros((1 << 19,), np.float32)
    arrays = {
        "zero": np.zeros(2, np.float32),
        "same": np.zeros(2, np.float32),
        "negative": -np.zeros(2, np.float32),
        "large": large,
        "view": large[:],
        "copy": large.copy(),
    }
    for name, array in arrays.items():
        builder.constant(name, array, TensorType(DType.FLOAT32, array.shape, Space.ONCE))
    builder.add(Unary("exp"), builder.constant_values[1])
    graph = common_subexpressions(builder.build(builder.constant_values))
    assert [value.name for value in graph.constant_values] == ["zero", "negative", "large", "copy"]
    assert graph.nodes[0].inputs == graph.constant_values[:1]


def test_fills_of_nan_are_one() -> None:
    builder = GraphBuilder(row_form=True)
    fills = [builder.add(Fill((2,), float("nan"), DType.FLOAT32)) for _ in range(2)]
    assert len(common_subexpressions(builder.build(fills)).nodes) == 1
