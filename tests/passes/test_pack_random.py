"""`pack` on random unrolled loops: the numbers stay, the graph is well formed and not larger.

A loop body is a random list of steps, applied to every lane. A lane begins at a slice of one base,
an embedding or the result of another lane; weights are its own or shared. Some lanes stray from the
body. The lanes come together in a concatenation, a sum, or as outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from swath.graph.interpreter import interpret
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import (
    ArgReduce,
    BatchNorm,
    Binary,
    Cast,
    Concat,
    Cumulative,
    Embedding,
    Expand,
    LayerNorm,
    Linear,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    RmsNorm,
    Slice,
    Softmax,
    Take,
    Unary,
    Where,
)
from swath.graph.ops.base import Array, Op
from swath.graph.types import DType, Space, TensorType
from swath.graph.verifier import verify
from swath.passes.common_subexpressions import common_subexpressions
from swath.passes.pack import pack

WIDTH = 4  # of every lane between two steps: [1, WIDTH]
COLUMNS = 6


@dataclass
class Loop:
    """What the steps of a loop body need."""

    builder: GraphBuilder
    random: np.random.Generator
    base: Value
    shared: dict[tuple[str, tuple[int, ...]], Value] = field(
        default_factory=dict[tuple[str, tuple[int, ...]], Value]
    )

    def weight(self, name: str, shape: tuple[int, ...], own: bool) -> Value:
        """A weight of the lane's own, or the one that all lanes share."""
        key = (name, shape)
        if not own and key in self.shared:
            return self.shared[key]
        array = self.random.uniform(0.2, 1.0, shape).astype(np.float32)
        value = self.builder.constant(name, array, TensorType(DType.FLOAT32, shape, Space.ONCE))
        self.shared.setdefault(key, value)
        return value


@dataclass(frozen=True)
class Lane:
    """A lane on its way through the body: its value, another lane's, whose weights it takes."""

    loop: Loop
    x: Value
    other: Value
    own: bool

    def add(self, op: Op, *inputs: Value) -> Value:
        """A node of the loop."""
        return self.loop.builder.add(op, *inputs)

    def weight(self, name: str, *shape: int) -> Value:
        """A weight, by `own`."""
        return self.loop.weight(name, shape, self.own)


Step = Callable[[Lane], Value]


def _linear(lane: Lane) -> Value:
    weight, bias = lane.weight("w", WIDTH, WIDTH), lane.weight("b", WIDTH)
    return lane.add(Linear(), lane.x, weight, bias)


def _linear_shared_x(lane: Lane) -> Value:
    whole = lane.add(Linear(), lane.loop.base, lane.weight("u", WIDTH, COLUMNS * WIDTH))
    return lane.add(Binary("add"), lane.x, whole)


def _unary(lane: Lane) -> Value:
    return lane.add(Unary("sigmoid"), lane.x)


def _multiply(lane: Lane) -> Value:
    return lane.add(Binary("mul"), lane.x, lane.other)


def _scale(lane: Lane) -> Value:
    return lane.add(Binary("mul"), lane.weight("scale"), lane.x)


def _shift(lane: Lane) -> Value:
    return lane.add(Binary("sub"), lane.x, lane.weight("shift", WIDTH))


def _where(lane: Lane) -> Value:
    half = lane.weight("half")
    condition = lane.add(Binary("gt"), lane.x, half)
    return lane.add(Where(), condition, lane.x, lane.other)


def _softmax(lane: Lane) -> Value:
    return lane.add(Softmax(1), lane.x)


def _cumulative(lane: Lane) -> Value:
    return lane.add(Cumulative("sum", 1), lane.x)


def _center(lane: Lane) -> Value:
    mean = lane.add(Reduce("mean", (1,), True), lane.x)
    return lane.add(Binary("sub"), lane.x, mean)


def _largest(lane: Lane) -> Value:
    at = lane.add(ArgReduce("max", 1, True), lane.x)
    return lane.add(Binary("add"), lane.x, lane.add(Cast(DType.FLOAT32), at))


def _views(lane: Lane) -> Value:
    square = lane.add(Reshape((1, 2, WIDTH // 2)), lane.x)
    turned = lane.add(Permute((0, 2, 1)), square)
    return lane.add(Reshape((1, WIDTH)), turned)


def _halves(lane: Lane) -> Value:
    half = WIDTH // 2
    low = lane.add(Slice(1, 0, half), lane.x)
    high = lane.add(Slice(1, half, WIDTH), lane.x)
    return lane.add(Concat(1), high, low)


def _take(lane: Lane) -> Value:
    return lane.add(Take(1, tuple(reversed(range(WIDTH)))), lane.x)


def _expand(lane: Lane) -> Value:
    first = lane.add(Slice(1, 0, 1), lane.x)
    return lane.add(Binary("add"), lane.other, lane.add(Expand((1, WIDTH)), first))


def _product(lane: Lane) -> Value:
    column = lane.add(Reshape((1, WIDTH, 1)), lane.x)
    product = lane.add(MatMul(), lane.weight("m", WIDTH, WIDTH), column)
    return lane.add(Reshape((1, WIDTH)), product)


def _layer_norm(lane: Lane) -> Value:
    weight, bias = lane.weight("lw", WIDTH), lane.weight("lb", WIDTH)
    return lane.add(LayerNorm(1, 1e-3), lane.x, weight, bias)


def _rms_norm(lane: Lane) -> Value:
    return lane.add(RmsNorm(1, 1e-3), lane.x, lane.weight("rw", WIDTH))


def _batch_norm(lane: Lane) -> Value:
    parameters = [lane.weight(f"bn{i}", WIDTH) for i in range(4)]
    return lane.add(BatchNorm(1e-3), lane.x, *parameters)


def _lookup(lane: Lane) -> Value:
    table = lane.weight("table", 3, WIDTH)
    ids = lane.add(ArgReduce("max", 1, False), lane.add(Slice(1, 0, 3), lane.x))
    return lane.add(Embedding(), table, ids)


STEPS: tuple[Step, ...] = (
    _linear, _linear_shared_x, _unary, _multiply, _scale, _shift, _where, _softmax, _cumulative,
    _center, _largest, _views, _halves, _take, _expand, _product, _layer_norm, _rms_norm,
    _batch_norm, _lookup,
)  # fmt: skip


@st.composite
def unrolled_loops(draw: st.DrawFn) -> Graph:
    """A graph with one or two loops, one on the results of the other."""
    builder = GraphBuilder()
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    shape = (1, COLUMNS * WIDTH)
    base = builder.input("x", TensorType(DType.FLOAT32, shape, Space.CANDIDATE))
    loop = Loop(builder, random, base)
    starts = [builder.add(Slice(1, i * WIDTH, (i + 1) * WIDTH), base) for i in range(COLUMNS)]
    outputs: list[Value] = []
    for _ in range(draw(st.integers(1, 2))):
        lanes = _lanes(draw, loop, starts)
        outputs += _together(draw, builder, lanes)
        starts = lanes
    return builder.build(outputs)


def _lanes(draw: st.DrawFn, loop: Loop, starts: list[Value]) -> list[Value]:
    body = draw(st.lists(st.tuples(st.sampled_from(STEPS), st.booleans()), max_size=5))
    lanes: list[Value] = []
    for _ in range(draw(st.integers(2, 9))):
        value, other = draw(st.sampled_from(starts)), draw(st.sampled_from(starts))
        stray = draw(st.integers(0, 9)) == 0
        for step, own in body[: len(body) // 2] if stray else body:
            value = step(Lane(loop, value, other, own))
        lanes.append(value)
    return lanes


def _together(draw: st.DrawFn, builder: GraphBuilder, lanes: list[Value]) -> list[Value]:
    order = draw(st.permutations(lanes))
    way = draw(st.sampled_from(["wide", "tall", "sum", "product", "outputs", "mixed"]))
    if way == "wide":
        return [builder.add(Concat(1), *order)]
    if way == "tall":
        return [builder.add(Concat(0), *order, order[0])]
    if way == "outputs":
        return list(order)
    if way == "mixed":
        narrow = [builder.add(Slice(1, 0, 2), value) for value in lanes[::2]]
        return [builder.add(Concat(1), *order, *narrow), lanes[0]]
    total = order[0]
    for value in order[1:]:
        total = builder.add(Binary("add" if way == "sum" else "minimum"), total, value)
    return [total]


def random_row(graph: Graph, seed: int) -> list[Array]:
    """Inputs of one row."""
    random = np.random.default_rng(seed)
    return [
        random.standard_normal(value.type.static_shape).astype(np.float32) for value in graph.inputs
    ]


def size(graph: Graph) -> float:
    """The number of nodes; a view on what is there counts little."""
    return sum(0.25 if isinstance(node.op, Reshape | Slice) else 1 for node in graph.nodes)


@settings(max_examples=300, deadline=None)
@given(graph=unrolled_loops(), seed=st.integers(0, 1000))
def test_same_numbers(graph: Graph, seed: int) -> None:
    packed = pack(graph)
    verify(packed, "pack")
    assert size(packed) <= size(common_subexpressions(graph))
    row = random_row(graph, seed)
    expected = interpret(graph, row, float64=True)
    actual = interpret(packed, row, float64=True)
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)
