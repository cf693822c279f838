"""The text form prints and parses back."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import row_graphs

from swath.graph.ir import Graph, GraphBuilder, Origin
from swath.graph.ops import Fill, Iota, Reshape, TopK, Unary
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph, print_node, same_graph
from swath.graph.types import BatchSize, DType, RaggedSize, Space, TensorType

TEXT = """\
input %x: f32[1,13] @candidate
constant %scale: f32[] @once = 0.5
constant %bias: f32[2] @once = [1.0, -0.0]
constant %weight: f32[2,13] @once
%h: f32[1,2] @candidate = linear(%x, %weight, %bias)  # from deep.0 model.py:12 "h = self.deep(x)"
%y: f32[1,2] @candidate = binary(%h, %scale, function="mul")
%top: f32[1,1] @candidate, %at: i64[1,1] @candidate = topk(%y, k=1, axis=1, largest=true)
return %top, %at
"""


def test_prints_what_it_parsed() -> None:
    weight = np.arange(26, dtype=np.float32).reshape(2, 13)
    graph = parse_graph(TEXT, {"weight": weight})
    assert print_graph(graph) == TEXT
    assert graph.constants["weight"] is weight
    np.testing.assert_array_equal(graph.constants["bias"], np.array([1, -0.0], np.float32))
    assert graph.nodes[0].origin == Origin("deep.0", "model.py", 12, "h = self.deep(x)")
    assert isinstance(graph.nodes[2].op, TopK)


def test_leaves_out_origins() -> None:
    graph = parse_graph(TEXT, lambda value: np.zeros(value.type.static_shape, np.float32))
    assert "#" not in print_graph(graph, origins=False)
    assert print_node(graph.nodes[1]) == TEXT.splitlines()[5]


def test_infers_types_left_out() -> None:
    graph = parse_graph(
        """
        # A comment
        input %x: f32[1,13] @candidate
        %zeros = fill(shape=[1, 13], value=0, dtype=f32)
        %y, %at = topk(%x, k=2, axis=1, largest=false)
        return %y, %zeros
        """
    )
    assert [str(value.type) for value in graph.outputs] == [
        "f32[1,2] @candidate",
        "f32[1,13] @once",
    ]


def test_prints_batched_graphs() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (BatchSize(), 26, 2)))
    builder.input("offsets", TensorType(DType.INT64, (BatchSize(1, 1),)))
    builder.input("ids", TensorType(DType.INT64, (RaggedSize("user ids"),)))
    flat = builder.add(Reshape((BatchSize(26), 2)), x)
    rows = builder.add(Iota(BatchSize(), 0, 1, DType.INT64))
    lowest = builder.add(Fill((BatchSize(), 1), float("-inf"), DType.FLOAT32))
    check_round_trip(builder.build([flat, rows, lowest]))


names = st.text(min_size=1, max_size=12)
origins = st.builds(Origin, st.text(max_size=9), st.text(max_size=9), st.integers(0, 99),
                    st.text(max_size=20))  # fmt: skip


@given(names=st.lists(names, min_size=3, max_size=3, unique=True), origin=origins)
def test_any_name_and_origin(names: list[str], origin: Origin) -> None:
    builder = GraphBuilder()
    x = builder.input(names[0], TensorType(DType.FLOAT32, (RaggedSize(names[0]),)), origin)
    array = np.ones(5, np.float32)
    builder.constant(names[1], array, TensorType(DType.FLOAT32, (5,)), origin)
    y = builder.add(Unary("exp"), x, name=names[2], origin=origin)
    check_round_trip(builder.build([y, x]))


scalars = st.one_of(
    st.tuples(st.just(DType.FLOAT32), st.floats(width=32)),
    st.tuples(st.just(DType.FLOAT64), st.floats()),
    st.tuples(st.just(DType.INT64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(DType.UINT8), st.integers(0, 255)),
    st.tuples(st.just(DType.BOOL), st.booleans()),
)


@given(scalar=scalars, number=st.floats())
def test_numbers_are_exact(scalar: tuple[DType, float], number: float) -> None:
    dtype, element = scalar
    array = np.full((2, 1), element, dtype.numpy)
    builder = GraphBuilder(row_form=True)
    value = builder.constant("c", array, TensorType(dtype, (2, 1), Space.ONCE))
    fill = builder.add(Fill((3,), number, DType.FLOAT64))
    graph = builder.build([value, fill])
    back = parse_graph(print_graph(graph))
    np.testing.assert_array_equal(back.constants["c"], array)
    assert repr(back.nodes[0].op) == repr(graph.nodes[0].op)


@settings(deadline=None, max_examples=60, print_blob=True)
@given(graph=row_graphs())
def test_random_graphs(graph: Graph) -> None:
    check_round_trip(graph)


def check_round_trip(graph: Graph) -> None:
    """The text parses to an equal graph, with the same text."""
    text = print_graph(graph)
    back = parse_graph(text, graph.constants)
    assert print_graph(back) == text
    assert same_graph(graph, back)
    for one, other in zip(graph.nodes, back.nodes, strict=True):
        assert one.op == other.op
        assert one.origin == other.origin
        assert [v.type for v in one.outputs] == [v.type for v in other.outputs]
