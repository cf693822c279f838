"""Random batched graphs over most ops, grown value by value from one seed.

Each step applies a random op to random values, on any axis, the batch axis included. What
debatching refuses stays in the graph as dead code, so that all outputs are claimed to be row-wise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swath.errors import UnsupportedModel
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import (
    Attention,
    Binary,
    Concat,
    Cumulative,
    Embedding,
    Expand,
    Fill,
    Index,
    Iota,
    LayerNorm,
    Linear,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Sort,
    Take,
    Unary,
)
from swath.graph.ops.base import ShapeError, product
from swath.graph.types import BatchSize, Dim, DType, Shape, TensorType
from swath.rows import debatch

MOST_ELEMENTS = 400
BATCH = BatchSize()


class RandomGraph:
    """`graph` after growing; `values` are row-wise by the claim of debatching."""

    def __init__(self, seed: int, steps: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = GraphBuilder()
        shapes: list[Shape] = [(BATCH, 4), (BATCH, 2, 3), (BatchSize(2), 3), (3, BATCH), (4,)]
        self.values = [
            self.builder.input(f"x{i}", TensorType(DType.FLOAT32, shape))
            for i, shape in enumerate(shapes)
        ]
        self.ids = self.builder.input("ids", TensorType(DType.INT64, (BATCH, 2)))
        self.refused = 0
        for _ in range(steps):
            self.step()

    @property
    def graph(self) -> Graph:
        return self.builder.build(self.values[-3:])

    def step(self) -> None:
        steps: list[Callable[[], Value]] = [
            self.elementwise, self.elementwise, self.reshape, self.reshape, self.permute,
            self.permute, self.slice, self.take, self.concat, self.reduce, self.along, self.linear,
            self.matmul, self.expand, self.fill, self.own_row, self.layer_norm, self.attention,
            self.embedding,
        ]  # fmt: skip
        try:
            value = steps[self.number(len(steps))]()
        except ShapeError:
            return
        static = [dim if isinstance(dim, int) else dim.multiple for dim in _dims(value)]
        if len(static) > 5 or np.prod(static) > MOST_ELEMENTS:
            return
        try:
            debatch(self.builder.build([value]))
        except UnsupportedModel:
            self.refused += 1
            return
        self.values.append(value)

    def number(self, end: int) -> int:
        return int(self.rng.integers(0, end))

    def pick(self) -> Value:
        # Late values more often, so that graphs become deep.
        return self.values[max(self.number(len(self.values)), self.number(len(self.values)))]

    def axis(self, value: Value) -> int:
        if value.type.rank == 0:
            raise ShapeError("no axes")
        return self.number(value.type.rank)

    def add(self, op: Op, *inputs: Value) -> Value:
        return self.builder.add_node(op, inputs)[0]

    def constant(self, *shape: int) -> Value:
        array = self.rng.standard_normal(shape).astype(np.float32)
        return self.builder.constant("constant", array, TensorType(DType.FLOAT32, shape))

    def elementwise(self) -> Value:
        if self.number(2):
            functions = ("tanh", "relu", "neg", "sigmoid", "square")
            # Squares of squares overflow.
            return self.add(Unary("tanh"), self.add(Unary(functions[self.number(5)]), self.pick()))
        function = ("add", "sub", "mul", "maximum")[self.number(4)]
        return self.add(Binary(function), self.pick(), self.pick())

    def reshape(self) -> Value:
        """Merges two axes, or splits one, or adds one of size 1."""
        value = self.pick()
        shape = list(value.type.shape)
        axis = self.axis(value)
        if self.number(2) and axis + 1 < len(shape):
            shape[axis : axis + 2] = [product(tuple(shape[axis : axis + 2]))]
        elif self.number(3):
            shape[axis : axis + 1] = self.split(shape[axis])
        else:
            shape.insert(axis, 1)
        return self.add(Reshape(tuple(shape)), value)

    def split(self, dim: Dim) -> list[Dim]:
        for size in (2, 3):
            multiple = dim.multiple if isinstance(dim, BatchSize) else dim
            if isinstance(multiple, int) and multiple % size == 0:
                rest = BatchSize(multiple // size) if isinstance(dim, BatchSize) else dim
                rest = multiple // size if isinstance(rest, int) else rest
                return [rest, size] if self.number(2) else [size, rest]
        raise ShapeError("nothing to split")

    def permute(self) -> Value:
        value = self.pick()
        axes = self.rng.permutation(value.type.rank)
        return self.add(Permute(tuple(int(axis) for axis in axes)), value)

    def slice(self) -> Value:
        value = self.pick()
        axis = self.axis(value)
        size = value.type.shape[axis]
        if isinstance(size, BatchSize):
            return self.add(Slice(axis, 0, BatchSize(1 + self.number(size.multiple))), value)
        start = self.number(size if isinstance(size, int) else 1)
        return self.add(Slice(axis, start, start + 1), value)

    def take(self) -> Value:
        value = self.pick()
        return self.add(Take(self.axis(value), (1, 0, 1)), value)

    def concat(self) -> Value:
        value = self.pick()
        same = [other for other in self.values if other.type.shape == value.type.shape]
        return self.add(Concat(self.axis(value)), value, same[self.number(len(same))])

    def reduce(self) -> Value:
        value = self.pick()
        function = ("sum", "mean", "max")[self.number(3)]
        return self.add(Reduce(function, (self.axis(value),), bool(self.number(2))), value)

    def along(self) -> Value:
        value = self.pick()
        axis = self.axis(value)
        ops: tuple[Op, ...] = (Softmax(axis), Cumulative("sum", axis), Sort(axis, False))
        return self.add(ops[self.number(len(ops))], value)

    def linear(self) -> Value:
        value = self.pick()
        last = value.type.shape[-1] if value.type.rank else 0
        if not isinstance(last, int):
            return self.add(Linear(), value, self.pick())
        return self.add(Unary("tanh"), self.add(Linear(), value, self.constant(3, last)))

    def matmul(self) -> Value:
        one, other = self.pick(), self.pick()
        rank = other.type.rank
        if self.number(2) and rank >= 2:
            other = self.add(Permute((*range(rank - 2), rank - 1, rank - 2)), other)
        return self.add(Unary("tanh"), self.add(MatMul(), one, other))

    def expand(self) -> Value:
        value = self.pick()
        shape = [(BATCH, 2, 2)[self.number(3)] if dim == 1 else dim for dim in value.type.shape]
        lead: list[Dim] = [BATCH, 2, 1]
        return self.add(Expand((lead[self.number(3)], *shape)), value)

    def fill(self) -> Value:
        return self.add(Fill((BatchSize(1 + self.number(2)), 3), 0.5, DType.FLOAT32))

    def own_row(self) -> Value:
        """x[arange(batch) * post + j] on some axis."""
        value = self.pick()
        axis = self.axis(value)
        size = value.type.shape[axis]
        if not isinstance(size, BatchSize):
            raise ShapeError("no batch")
        step = 1 + self.number(size.multiple)
        numbers = self.add(Iota(BATCH, 0, step, DType.INT64))
        if size.multiple > 1:
            column = np.asarray(self.number(size.multiple), np.int64)
            within = self.builder.constant("within", column, TensorType(DType.INT64, ()))
            numbers = self.add(Binary("add"), numbers, within)
        return self.add(Index((axis,)), value, numbers)

    def layer_norm(self) -> Value:
        return self.add(LayerNorm(1, 1e-2), self.pick())

    def attention(self) -> Value:
        value = self.pick()
        return self.add(Attention(0.5, bool(self.number(2))), value, value, value)

    def embedding(self) -> Value:
        return self.add(Embedding(), self.constant(3, 2), self.ids)


def _dims(value: Value) -> list[int | BatchSize]:
    return [dim for dim in value.type.shape if isinstance(dim, int | BatchSize)]
