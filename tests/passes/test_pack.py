"""`pack` on hand-made loops: what becomes of them, in nodes and numbers."""

from __future__ import annotations

import time
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from swath.graph.interpreter import interpret
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import (
    Binary,
    Cast,
    Concat,
    Embedding,
    EmbeddingBag,
    Linear,
    LookupGroup,
    MatMul,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Sort,
    Unary,
)
from swath.graph.ops.base import Array
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph
from swath.graph.types import DType, RaggedSize, Shape, Space, TensorType
from swath.graph.verifier import verify
from swath.passes.pack import pack
from swath.passes.reorder_weights import reorder_weights

RANDOM = np.random.default_rng(7)


class Loops:
    """A graph builder with weights at hand."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.add = self.builder.add

    def input(self, name: str, *shape: int, dtype: DType = DType.FLOAT32) -> Value:
        """An input with rows."""
        return self.builder.input(name, TensorType(dtype, shape, Space.CANDIDATE))

    def weight(self, *shape: int) -> Value:
        """A random constant."""
        array = RANDOM.standard_normal(shape).astype(np.float32)
        return self.builder.constant("w", array, TensorType(DType.FLOAT32, shape, Space.ONCE))

    def columns(self, x: Value, widths: list[int]) -> list[Value]:
        """A lookup for each column of x, in a table of its own."""
        found: list[Value] = []
        for i, width in enumerate(widths):
            column = self.add(Slice(1, i, i + 1), x)
            ids = self.add(Cast(DType.INT64), column)
            found.append(self.add(Embedding(), self.weight(3 + i % 4, width), ids))
        return found


def checked(graph: Graph, packed: Graph) -> Counter[str]:
    """The nodes of the packed graph by op, once its numbers are those of the graph."""
    verify(packed, "pack")
    row = [_random(value) for value in graph.inputs]
    expected = interpret(graph, row, float64=True)
    actual = interpret(packed, row, float64=True)
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
    return Counter(node.op.name for node in packed.nodes)


def _random(value: Value) -> Array:
    # Ids of up to 2 are in every table.
    array = RANDOM.integers(0, 3, value.type.static_shape) + 0.25
    return array.astype(value.type.dtype.numpy)


def test_two_widths_share_the_ids() -> None:
    loops = Loops()
    x = loops.input("x", 1, 30)
    deep = loops.columns(x, [16] * 26)
    wide = loops.columns(x, [1] * 26)
    flat = loops.add(Reshape((1, 26 * 16)), loops.add(Concat(2), *deep))
    logit = loops.add(Reduce("sum", (2,), False), loops.add(Concat(2), *wide))
    graph = loops.builder.build([flat, logit])
    counts = checked(graph, pack(graph))
    assert counts["lookup_group"] == 2
    assert counts["cast"] == counts["slice"] == 1
    assert counts.total() <= 9


def test_pairs_of_columns() -> None:
    loops = Loops()
    x = loops.input("x", 1, 26, 8)
    columns = [loops.add(Slice(1, i, i + 1), x) for i in range(26)]
    pairs = [
        loops.add(Binary("mul"), loops.add(Linear(), a, loops.weight(8, 8)), b)
        for a, b in combinations(columns, 2)
    ]
    graph = loops.builder.build([loops.add(Concat(1), *pairs)])
    counts = checked(graph, pack(graph))
    assert counts["matmul"] == counts["binary"] == 1
    assert counts.total() <= 8


def test_one_weight_for_all_pairs() -> None:
    loops = Loops()
    x = loops.input("x", 1, 26, 8)
    columns = [loops.add(Slice(1, i, i + 1), x) for i in range(26)]
    weight = loops.weight(8, 8)
    pairs = [
        loops.add(Binary("mul"), loops.add(Linear(), a, weight), b)
        for a, b in combinations(columns, 2)
    ]
    graph = loops.builder.build([loops.add(Concat(1), *pairs)])
    counts = checked(graph, pack(graph))
    assert counts["linear"] == 1
    assert counts.total() <= 9


def experts(loops: Loops, x: Value, count: int) -> list[Value]:
    """Two layers each on the same x."""
    hidden = [
        loops.add(Unary("relu"), loops.add(Linear(), x, loops.weight(16, 10), loops.weight(16)))
        for _ in range(count)
    ]
    return [
        loops.add(Unary("relu"), loops.add(Linear(), h, loops.weight(8, 16), loops.weight(8)))
        for h in hidden
    ]


def test_experts_and_gates() -> None:
    loops = Loops()
    x = loops.input("x", 1, 10)
    outputs = [loops.add(Reshape((1, 1, 8)), expert) for expert in experts(loops, x, 4)]
    stacked = loops.add(Concat(1), *outputs)
    tasks: list[Value] = []
    for _ in range(2):
        gate = loops.add(Softmax(1), loops.add(Linear(), x, loops.weight(4, 10)))
        mixed = loops.add(MatMul(), loops.add(Reshape((1, 1, 4)), gate), stacked)
        tasks.append(loops.add(Linear(), loops.add(Reshape((1, 8)), mixed), loops.weight(1, 8)))
    graph = loops.builder.build([loops.add(Concat(1), *tasks)])
    counts = checked(graph, pack(graph))
    # The first layer and the gates are one wide linear each, the rest products of packs.
    assert counts["linear"] == 2
    assert counts["matmul"] == 3
    assert counts["softmax"] == 1


def test_long_sum() -> None:
    loops = Loops()
    x = loops.input("x", 1, 40)
    terms = [loops.add(Unary("tanh"), loops.add(Slice(1, 4 * i, 4 * i + 4), x)) for i in range(10)]
    total = loops.input("start", 1, 4)
    for term in terms:
        total = loops.add(Binary("add"), total, term)
    graph = loops.builder.build([total])
    counts = checked(graph, pack(graph))
    assert counts["reduce"] == counts["binary"] == counts["unary"] == 1


def test_members_used_elsewhere_are_slices_of_the_pack() -> None:
    loops = Loops()
    x = loops.input("x", 1, 26)
    found = loops.columns(x, [8] * 26)
    alone = loops.add(Unary("exp"), found[3])
    graph = loops.builder.build([loops.add(Concat(2), *found), alone])
    counts = checked(graph, pack(graph))
    assert counts["lookup_group"] == 1
    assert counts["embedding"] == 0


def test_lookup_groups_join() -> None:
    loops = Loops()
    ids = loops.input("ids", 1, 6, dtype=DType.INT64)
    groups = [
        loops.add(
            LookupGroup(), loops.add(Slice(1, i, i + 2), ids), *(loops.weight(3, 4) for _ in "ab")
        )
        for i in (0, 2, 4)
    ]
    graph = loops.builder.build([loops.add(Concat(1), *groups)])
    assert checked(graph, pack(graph))["lookup_group"] == 1


def test_one_table_for_many_columns() -> None:
    loops = Loops()
    inputs = [loops.input(f"ids{i}", 1, dtype=DType.INT64) for i in range(8)]
    table = loops.weight(5, 4)
    graph = loops.builder.build(
        [loops.add(Concat(1), *(loops.add(Embedding(), table, ids) for ids in inputs))]
    )
    counts = checked(graph, pack(graph))
    assert counts["embedding"] == 1
    assert counts["lookup_group"] == 0


def test_different_tails_pack_up_to_where_they_part() -> None:
    loops = Loops()
    x = loops.input("x", 1, 24)
    lanes: list[Value] = []
    for i in range(12):
        lane = loops.add(Unary("exp"), loops.add(Slice(1, 2 * i, 2 * i + 2), x))
        lanes.append(loops.add(Unary("tanh" if i % 3 else "sigmoid"), lane))
    graph = loops.builder.build([loops.add(Concat(1), *lanes)])
    counts = checked(graph, pack(graph))
    assert counts["unary"] == 3


def test_members_that_need_one_another_stay_apart() -> None:
    loops = Loops()
    value = loops.input("x", 1, 8)
    layers: list[Value] = []
    for _ in range(4):
        value = loops.add(Linear(), value, loops.weight(8, 8))
        layers.append(value)
    graph = loops.builder.build([loops.add(Concat(1), *layers)])
    assert checked(graph, pack(graph)) == {"linear": 4, "concat": 1}


def test_bringing_large_operands_together_does_not_pay() -> None:
    loops = Loops()
    inputs = [loops.input(f"x{i}", 1, 5000) for i in range(3)]
    sums = [loops.add(Reduce("sum", (1,), True), value) for value in inputs]
    graph = loops.builder.build([loops.add(Concat(1), *sums)])
    assert pack(graph).nodes == graph.nodes


def test_row_spaces_stay_apart() -> None:
    loops = Loops()
    spaces = [Space.REQUEST, Space.CANDIDATE]
    wide = [
        loops.builder.input(space.value, TensorType(DType.FLOAT32, (1, 20), space))
        for space in spaces
    ]
    lanes = [
        [loops.add(Unary("exp"), loops.add(Slice(1, 2 * i, 2 * i + 2), x)) for i in range(10)]
        for x in wide
    ]
    graph = loops.builder.build([loops.add(Concat(1), *lane) for lane in lanes])
    packed = pack(graph)
    verify(packed, "pack")
    assert [value.type.space for value in packed.outputs] == spaces
    assert Counter(node.op.name for node in packed.nodes)["unary"] == 2


def test_constants_join_what_is_not_constant() -> None:
    loops = Loops()
    x = loops.input("x", 1, 8)
    ways = [loops.add(Slice(1, 2 * i, 2 * i + 2), x) for i in range(4)] + [loops.weight(1, 2)]
    lanes = [
        loops.add(Unary("exp"), loops.add(Binary("add"), w, x2)) for w in ways for x2 in ways[:2]
    ]
    graph = loops.builder.build([loops.add(Concat(1), *lanes)])
    counts = checked(graph, pack(graph))
    assert counts["unary"] == counts["binary"] == 1


def test_ragged_values_and_several_results_are_left_alone() -> None:
    loops = Loops()
    ids = loops.builder.input("ids", TensorType(DType.INT64, (RaggedSize("ids"),), Space.POSITION))
    offsets = loops.input("offsets", 1, dtype=DType.INT64)
    bags = [
        loops.add(EmbeddingBag("sum", False), loops.weight(5, 4), ids, offsets) for _ in range(3)
    ]
    sorts = [loops.builder.add_node(Sort(1, False), [bag])[0] for bag in bags]
    graph = loops.builder.build([loops.add(Concat(1), *sorts)])
    packed = pack(graph)
    verify(packed, "pack")
    assert len(packed.nodes) == len(graph.nodes)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3, 4), ()])
def test_packs_of_every_rank(shape: Shape) -> None:
    loops = Loops()
    inputs = [loops.input(f"x{i}", *map(int, map(str, shape))) for i in range(5)]
    lanes = [loops.add(Unary("exp"), value) for value in inputs]
    if not shape:
        lanes = [loops.add(Reshape((1,)), value) for value in lanes]
    graph = loops.builder.build([loops.add(Concat(0), *lanes), *lanes])
    assert checked(graph, pack(graph))["unary"] == 1


def test_two_thousand_columns_of_five_kinds() -> None:
    loops = Loops()
    x = loops.input("x", 1, 2000)
    found = loops.columns(x, [(1, 4, 8, 16, 32)[i * 7 % 5] for i in range(2000)])
    flat = loops.add(Reshape((1, 24400)), loops.add(Concat(2), *found))
    graph = loops.builder.build([loops.add(Linear(), flat, loops.weight(4, 24400))])
    start = time.perf_counter()
    packed = reorder_weights(pack(graph))
    seconds = time.perf_counter() - start
    counts = checked(graph, packed)
    assert counts["lookup_group"] == 5
    # The weight's columns are in the order of the groups: nothing is put in order at run time.
    assert counts["take"] <= 5
    assert counts.total() <= 30
    assert seconds < 10


def test_time_grows_with_the_number_of_columns() -> None:
    def seconds(count: int) -> float:
        loops = Loops()
        x = loops.input("x", 1, count)
        graph = loops.builder.build([loops.add(Concat(2), *loops.columns(x, [4] * count))])
        start = time.perf_counter()
        pack(graph)
        return time.perf_counter() - start

    assert seconds(4000) < 16 * seconds(1000) + 0.5


def test_a_packed_graph_is_left_as_it_is() -> None:
    text = """
        input %x: f32[1,4] @candidate
        %a: f32[1,2] @candidate = slice(%x, axis=1, start=0, stop=2)
        %b: f32[1,2] @candidate = binary(%a, %a, function="mul")
        return %b
    """
    graph = parse_graph(text, {})
    assert print_graph(pack(graph)) == print_graph(graph)
