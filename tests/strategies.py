"""Random graphs for Hypothesis.

    row_graphs()             graphs in row form over all ops, with shared values and several outputs
    random_inputs(graph, n)  inputs of one row for such a graph, by a seed

A graph is grown value by value; each choice is drawn, so that Hypothesis can make a failing graph
smaller and print what replays it. Results of ops that can grow go through tanh: sums of products of
sums would leave nothing to compare.

To add an op, add a method to `Grower` and name it in `STEPS`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import strategies as st

from swath.graph.ir import Array, Graph, GraphBuilder, Origin, Value
from swath.graph.ops import (
    ArgReduce,
    Attention,
    BatchNorm,
    Binary,
    Cast,
    Concat,
    Convolution,
    Cumulative,
    Embedding,
    EmbeddingBag,
    Expand,
    Fill,
    Gather,
    Index,
    IndexPut,
    Iota,
    LayerNorm,
    Linear,
    LookupGroup,
    MatMul,
    Op,
    Permute,
    Pool,
    Reduce,
    Reshape,
    RmsNorm,
    Scatter,
    Slice,
    Softmax,
    Sort,
    Take,
    TopK,
    Unary,
    Where,
)
from swath.graph.ops.base import ShapeError
from swath.graph.types import DType, RaggedSize, Shape, Space, TensorType

MOST_ELEMENTS = 200
MOST_AXES = 5
IDS = 5  # every id is below
RAGGED = RaggedSize("bag_ids")

SMOOTH = ("tanh", "relu", "neg", "sigmoid", "abs", "silu", "gelu", "softplus", "sin", "erf")
ARITHMETIC = ("add", "sub", "mul", "maximum", "minimum")
COMPARISONS = ("lt", "ge", "eq", "ne")
NUMBERS = (0.0, 1.0, -0.0, 2.0, 0.5, -1.0, 3.0)


@st.composite
def row_graphs(draw: st.DrawFn, most_steps: int = 30) -> Graph:
    """A random graph in row form."""
    grower = Grower(lambda end: draw(st.integers(0, end - 1)))
    for _ in range(draw(st.integers(1, most_steps))):
        grower.step()
    return grower.graph()


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    """Inputs of one row. The bag of the row is ids 2 to 4 of 7."""
    random = np.random.default_rng(seed)
    return [_random_input(value, random) for value in graph.inputs]


def _random_input(value: Value, random: np.random.Generator) -> Array:
    if value.name == "offsets":
        return np.array([2, 5])
    shape = [dim if isinstance(dim, int) else 7 for dim in value.type.shape]
    if value.type.dtype is DType.BOOL:
        return random.random(shape) < 0.5
    if value.type.dtype is DType.INT64:
        return random.integers(0, IDS, shape)
    return random.standard_normal(shape).astype(value.type.dtype.numpy)


class Grower:
    """A graph that grows; `choose(end)` gives a number below `end`."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose
        self.builder = GraphBuilder(row_form=True)
        self.values: list[Value] = []
        for index, shape in enumerate([(1, 6), (1, 4, 3), (4, 3), (1, 2, 4, 3), (1, 1, 3)]):
            self.input(f"x{index}", DType.FLOAT32, shape)
        self.input("same", DType.FLOAT32, (3,), Space.ONCE)
        self.input("ids", DType.INT64, (1, 4))
        self.input("flags", DType.BOOL, (1, 4, 1))
        self.bag_ids = self.builder.input(
            "bag_ids", TensorType(DType.INT64, (RAGGED,), Space.POSITION)
        )
        self.offsets = self.builder.input("offsets", TensorType(DType.INT64, (1,), Space.CANDIDATE))

    def graph(self) -> Graph:
        """The graph; some of the last values are its outputs, perhaps one of them twice."""
        last = self.values[-4:]
        count = 1 + self.choose(3)
        return self.builder.build([last[self.choose(len(last))] for _ in range(count)])

    def step(self) -> None:
        """Add a random op to random values, if it fits them."""
        method = STEPS[self.choose(len(STEPS))]
        try:
            method(self)
        except ShapeError:
            return

    # What steps are made of

    def input(self, name: str, dtype: DType, shape: Shape, space: Space = Space.CANDIDATE) -> None:
        self.values.append(self.builder.input(name, TensorType(dtype, shape, space)))

    def add(self, op: Op, *inputs: Value) -> Value:
        """Make a value and let other steps use it. Raises ShapeError if it would be too large."""
        types = op.result_types(tuple(value.type for value in inputs))
        for type_ in types:
            sizes = [dim for dim in type_.shape if isinstance(dim, int)]
            if prod(sizes) > MOST_ELEMENTS or len(sizes) > MOST_AXES:
                raise ShapeError("too large")
        origin = Origin(f"layer.{len(self.builder.nodes)}", "model.py", 7, 'y = f("x")')
        outputs = self.builder.add_node(op, inputs, origin=origin)
        self.values.extend(outputs)
        return outputs[0]

    def constant(self, *shape: int, dtype: DType = DType.FLOAT32) -> Value:
        random = np.random.default_rng(self.choose(8))
        if dtype is DType.INT64:
            array = random.integers(0, IDS, shape)
        elif dtype is DType.BOOL:
            array = random.random(shape) < 0.5
        else:
            array = random.standard_normal(shape).astype(dtype.numpy)
        return self.builder.constant("constant", array, TensorType(dtype, shape, Space.ONCE))

    def number(self, dtype: DType = DType.FLOAT32) -> Value:
        array = np.asarray(NUMBERS[self.choose(len(NUMBERS))], dtype.numpy)
        return self.builder.constant("number", array, TensorType(dtype, (), Space.ONCE))

    def pick(self, dtype: DType = DType.FLOAT32, least: int = 0) -> Value:
        """A value of a type with `least` axes, late ones more often."""
        fitting = [v for v in self.values if v.type.dtype is dtype and v.type.rank >= least]
        if not fitting:
            raise ShapeError("there is none")
        return fitting[max(self.choose(len(fitting)), self.choose(len(fitting)))]

    def exact(self) -> Value:
        """A float input: where a rounding could make a jump, nothing computed will do."""
        return self.values[self.choose(5)]

    def any_value(self, least: int = 0) -> Value:
        return self.pick((DType.FLOAT32, DType.INT64, DType.BOOL)[self.choose(3)], least)

    def like(self, value: Value) -> Value:
        """A value of the same type and shape, perhaps this one."""
        same = [v for v in self.values if v.type == value.type]
        return same[self.choose(len(same))]

    def axis(self, value: Value) -> int:
        return self.choose(value.type.rank)

    def size(self, value: Value, axis: int) -> int:
        return value.type.static_shape[axis]

    def flag(self) -> bool:
        return bool(self.choose(2))

    def tamed(self, op: Op, *inputs: Value) -> Value:
        return self.add(Unary("tanh"), self.add(op, *inputs))

    # Element-wise

    def unary(self) -> None:
        self.add(Unary(SMOOTH[self.choose(len(SMOOTH))]), self.pick())

    def square(self) -> None:
        x = self.pick()
        self.tamed(Binary("mul"), x, x)

    def integer_unary(self) -> None:
        x = self.pick(DType.INT64)
        self.add(Unary(("neg", "abs", "sign", "bitwise_not")[self.choose(4)]), x)

    def logical_not(self) -> None:
        self.add(Unary("logical_not"), self.pick(DType.BOOL))

    def binary(self) -> None:
        function = ARITHMETIC[self.choose(len(ARITHMETIC))]
        x, y = self.pick(), self.pick()
        self.add(Binary(function), x, y)

    def binary_with_number(self) -> None:
        function = (*ARITHMETIC, "div", "pow")[self.choose(7)]
        x, number = self.pick(), self.number()
        if function == "div":
            number = self.builder.constant(
                "two", np.asarray(2, np.float32), TensorType(DType.FLOAT32, (), Space.ONCE)
            )
        # A power of a negative number is NaN, one of a tiny number is huge.
        x = self.add(Unary("softplus"), x) if function == "pow" else x
        turn = self.flag() and function not in ("div", "pow")
        self.tamed(Binary(function), *((number, x) if turn else (x, number)))

    def binary_with_constant(self) -> None:
        x = self.pick(least=1)
        shape = x.type.static_shape[self.choose(x.type.rank) :]
        self.tamed(Binary(("add", "sub", "mul")[self.choose(3)]), x, self.constant(*shape))

    def negative_sum(self) -> None:
        x = self.pick()
        negative = self.add(Unary("neg"), self.like(x))
        self.add(Binary(("add", "sub")[self.choose(2)]), x, negative)

    def reciprocal(self) -> None:
        """What shows the sign of a zero."""
        x = self.add(Unary("relu"), self.exact()) if self.flag() else self.exact()
        self.tamed(Unary("reciprocal"), self.add(Binary("add"), x, self.number()))

    def integer_binary(self) -> None:
        x = self.pick(DType.INT64)
        other = self.number(DType.INT64) if self.flag() else self.pick(DType.INT64)
        x = self.add(Binary(("add", "mul", "sub", "bitwise_and")[self.choose(4)]), x, other)
        seven = self.builder.constant(
            "seven", np.asarray(7), TensorType(DType.INT64, (), Space.ONCE)
        )
        self.add(Binary("remainder"), x, seven)

    def compare(self) -> None:
        self.add(Binary(COMPARISONS[self.choose(4)]), self.exact(), self.number())

    def logical(self) -> None:
        function = ("logical_and", "logical_or", "logical_xor")[self.choose(3)]
        self.add(Binary(function), self.pick(DType.BOOL), self.pick(DType.BOOL))

    def where(self) -> None:
        x = self.pick()
        other = self.number() if self.flag() else self.like(x)
        condition = self.pick(DType.BOOL)
        if not self.choose(4):
            condition = self.add(Cast(DType.BOOL), self.number())
        self.add(Where(), condition, x, other)

    def cast(self) -> None:
        target = (DType.FLOAT32, DType.INT64, DType.BOOL, DType.FLOAT64, DType.INT32)[
            self.choose(5)
        ]
        source = self.any_value()
        if source.type.dtype is DType.FLOAT32 and not target.is_float:
            source = self.exact()
        first = self.add(Cast(target), source)
        if target in (DType.FLOAT64, DType.INT32):
            self.add(Cast((DType.FLOAT32, DType.INT64)[self.choose(2)]), first)

    # Views

    def reshape(self) -> None:
        """Merge two axes, split one, add or drop one of size 1."""
        x = self.any_value()
        shape = list(x.type.static_shape)
        place = self.choose(len(shape) + 1)
        kind = self.choose(4)
        if kind == 0 and place + 1 < len(shape):
            shape[place : place + 2] = [shape[place] * shape[place + 1]]
        elif kind == 1 and place < len(shape) and shape[place] % 2 == 0:
            shape[place : place + 1] = [shape[place] // 2, 2]
        elif kind == 2 and 1 in shape:
            shape.remove(1)
        else:
            shape.insert(place, 1)
        self.add(Reshape(tuple(shape)), x)

    def permute(self) -> None:
        x = self.any_value(least=2)
        axes = list(range(x.type.rank))
        moved = axes.pop(self.choose(len(axes)))
        axes.insert(self.choose(len(axes) + 1), moved)
        self.add(Permute(tuple(axes)), x)

    def slice(self) -> None:
        x = self.any_value(least=1)
        axis = self.axis(x)
        size = self.size(x, axis)
        start = self.choose(size + 1)
        self.add(Slice(axis, start, start + self.choose(size - start + 1), 1 + self.choose(2)), x)

    def take(self) -> None:
        x = self.any_value(least=1)
        axis = self.axis(x)
        size = self.size(x, axis)
        if size == 0:
            raise ShapeError("nothing to take")
        count = 1 + self.choose(4)
        self.add(Take(axis, tuple(self.choose(size) for _ in range(count))), x)

    def expand(self) -> None:
        x = self.any_value()
        shape = [1 + self.choose(3) if dim == 1 else dim for dim in x.type.static_shape]
        self.add(Expand(tuple([1 + self.choose(2)] * self.choose(2) + shape)), x)

    def concat(self) -> None:
        x = self.any_value(least=1)
        parts = [self.like(x) for _ in range(1 + self.choose(3))]
        self.add(Concat(self.axis(x)), *parts)

    def cut_and_join(self) -> None:
        """Slices of a value, joined in order or not, perhaps with something done to one."""
        x = self.any_value(least=1)
        axis = self.axis(x)
        size = self.size(x, axis)
        cuts = sorted([0, size, *(self.choose(size + 1) for _ in range(2))])
        parts = [self.add(Slice(axis, start, stop), x) for start, stop in pairwise(cuts)]
        if self.flag() and x.type.dtype is DType.FLOAT32:
            place = self.choose(len(parts))
            parts[place] = self.add(Unary("tanh"), parts[place])
        if not self.choose(4):
            parts.reverse()
        self.add(Concat(axis), *parts)

    def unbind_and_flatten(self) -> None:
        """Parts of an axis as values of their own, laid side by side."""
        x = self.any_value(least=2)
        axis = self.axis(x)
        shape = x.type.static_shape
        rest = (1, prod(shape[:axis] + shape[axis + 1 :]))
        parts = [
            self.add(Reshape(rest), self.add(Slice(axis, index, index + 1), x))
            for index in range(shape[axis])
        ]
        if not parts:
            raise ShapeError("nothing to unbind")
        self.add(Concat(self.choose(2)), *parts)

    def fill(self) -> None:
        shape = tuple(1 + self.choose(4) for _ in range(self.choose(3)))
        dtype = (DType.FLOAT32, DType.INT64)[self.choose(2)]
        self.add(Fill(shape, NUMBERS[self.choose(2)], dtype))

    def iota(self) -> None:
        self.add(Iota(1 + self.choose(4), self.choose(3), 1 + self.choose(2), DType.INT64))

    # Along axes

    def reduce(self) -> None:
        x = self.pick(least=1)
        axes = {self.axis(x) for _ in range(1 + self.choose(2))}
        function = ("sum", "mean", "max", "min", "prod")[self.choose(5)]
        if 0 in x.type.shape:
            raise ShapeError("nothing to reduce")
        self.tamed(Reduce(function, tuple(sorted(axes)), self.flag()), x)

    def reduce_bool(self) -> None:
        x = self.pick(DType.BOOL, least=1)
        self.add(Reduce(("any", "all")[self.choose(2)], (self.axis(x),), self.flag()), x)

    def along(self) -> None:
        x = self.pick(least=1)
        axis = self.axis(x)
        if self.size(x, axis) == 0:
            raise ShapeError("nothing there")
        ops: tuple[Op, ...] = (
            Softmax(axis),
            Softmax(axis, log=True),
            Cumulative("sum", axis),
            Cumulative("prod", axis),
        )
        self.tamed(ops[self.choose(len(ops))], x)

    def order(self) -> None:
        x = self.exact()
        axis = self.axis(x)
        ops: tuple[Op, ...] = (
            Sort(axis, self.flag()),
            TopK(1 + self.choose(self.size(x, axis)), axis, self.flag()),
            ArgReduce(("max", "min")[self.choose(2)], axis, self.flag()),
        )
        self.add(ops[self.choose(3)], x)

    # Products

    def linear(self) -> None:
        x = self.pick(least=1)
        last = self.size(x, x.type.rank - 1)
        count = 1 + self.choose(4)
        weights = [self.constant(count, last), *([self.constant(count)] if self.flag() else [])]
        product = self.add(Linear(), x, *weights)
        if self.flag():
            product = self.add(Binary("mul"), product, self.constant(count))
            product = self.add(Binary("add"), product, self.constant(count))
        self.add(Unary("tanh"), product)

    def affine_linear(self) -> None:
        """A scale and a shift, perhaps a reshape, and a linear."""
        x = self.pick(least=1)
        last = self.size(x, x.type.rank - 1)
        x = self.add(Binary("mul"), x, self.constant(last))
        x = self.add(Binary("sub"), x, self.constant(last)) if self.flag() else x
        if self.flag():
            last = prod(x.type.static_shape)
            x = self.add(Reshape((1, last)), x)
        self.tamed(Linear(), x, self.constant(2, last))

    def matmul_with_constant(self) -> None:
        x = self.pick(least=2)
        *_, rows, columns = x.type.static_shape
        if self.flag():
            self.tamed(MatMul(), x, self.constant(columns, 1 + self.choose(3)))
        else:
            self.tamed(MatMul(), self.constant(1 + self.choose(3), rows), x)

    def matmul(self) -> None:
        x, y = self.pick(least=2), self.pick(least=2)
        if self.flag():
            rank = y.type.rank
            y = self.add(Permute((*range(rank - 2), rank - 1, rank - 2)), y)
        self.tamed(MatMul(), x, y)

    def convolution(self) -> None:
        x = self.pick(least=3)
        _, channels, *spatial = x.type.static_shape
        if len(spatial) > 2:
            raise ShapeError("too many axes")
        groups = 2 if channels % 2 == 0 and self.flag() else 1
        kernel = tuple(1 + self.choose(min(size, 2)) for size in spatial if size)
        if len(kernel) < len(spatial) or not channels:
            raise ShapeError("nothing to convolve")
        padding = tuple((self.choose(2), self.choose(2)) for _ in spatial)
        op = Convolution((1,) * len(spatial), padding, (1,) * len(spatial), groups)
        weight = self.constant(2 * groups, channels // groups, *kernel)
        result = self.add(op, x, weight, *([self.constant(2 * groups)] if self.flag() else []))
        if self.flag():
            result = self.batch_norm_of(result)
        self.add(Unary("tanh"), result)

    def pool(self) -> None:
        x = self.pick(least=2)
        if not x.type.static_shape[-1]:
            raise ShapeError("nothing to pool")
        function = ("max", "mean")[self.choose(2)]
        kernel = 1 + self.choose(x.type.static_shape[-1])
        self.add(Pool(function, (kernel,), (1,), ((0, 0),)), x)

    def attention(self) -> None:
        x = self.pick(least=3)
        if 0 in x.type.shape:
            raise ShapeError("nothing to attend to")
        rows = self.size(x, x.type.rank - 2)
        masks: list[Value] = []
        if self.flag():
            dtype = DType.BOOL if self.flag() else DType.FLOAT32
            masks = [self.constant(rows, rows, dtype=dtype)]
        self.add(Attention(0.5, self.flag()), x, self.like(x), self.like(x), *masks)

    # Normalisations

    def batch_norm(self) -> None:
        self.batch_norm_of(self.pick(least=2))

    def batch_norm_of(self, x: Value) -> Value:
        channels = self.size(x, 1)
        variance = self.builder.constant(
            "variance",
            np.linspace(0.5, 2, channels, dtype=np.float32),
            TensorType(DType.FLOAT32, (channels,), Space.ONCE),
        )
        mean, weight, bias = (self.constant(channels) for _ in range(3))
        return self.tamed(BatchNorm(1e-3), x, mean, variance, weight, bias)

    def row_norm(self) -> None:
        x = self.pick(least=1)
        axes = 1 + self.choose(min(2, x.type.rank))
        shape = x.type.static_shape[-axes:]
        if 0 in x.type.shape:
            raise ShapeError("nothing to normalise")
        weights = [self.constant(*shape) for _ in range(self.choose(3))]
        if self.flag():
            self.tamed(RmsNorm(axes, 0.1), x, *weights[:1])
        else:
            self.tamed(LayerNorm(axes, 0.1), x, *weights)

    # Lookups and indexing

    def embedding(self) -> None:
        self.add(Embedding(), self.constant(IDS, 1 + self.choose(3)), self.small_ids())

    def lookup_group(self) -> None:
        ids = self.small_ids()
        width = 1 + self.choose(3)
        count = self.size(ids, ids.type.rank - 1)
        if not 0 < count < 5:
            raise ShapeError("not as many tables")
        self.add(LookupGroup(), ids, *(self.constant(IDS, width) for _ in range(count)))

    def small_ids(self) -> Value:
        """Ids that are in every table: remainders."""
        x = self.pick(DType.INT64, least=1)
        count = self.builder.constant(
            "count", np.asarray(IDS), TensorType(DType.INT64, (), Space.ONCE)
        )
        return self.add(Binary("remainder"), x, count)

    def embedding_bag(self) -> None:
        op = EmbeddingBag(("sum", "mean", "max")[self.choose(3)], self.flag(), self.choose(2) - 1)
        self.add(op, self.constant(IDS, 1 + self.choose(3)), self.bag_ids, self.offsets)

    def index(self) -> None:
        x = self.any_value(least=1)
        axis = self.axis(x)
        if not self.size(x, axis):
            raise ShapeError("nothing to index")
        places = np.asarray([self.choose(self.size(x, axis)) for _ in range(3)])
        ids = self.builder.constant("places", places, TensorType(DType.INT64, (3,), Space.ONCE))
        self.add(Index((axis,)), x, ids)

    def index_put(self) -> None:
        x = self.pick(least=1)
        axis = self.axis(x)
        if not self.size(x, axis):
            raise ShapeError("nowhere to put it")
        place = np.asarray([self.choose(self.size(x, axis))])
        ids = self.builder.constant("place", place, TensorType(DType.INT64, (1,), Space.ONCE))
        self.add(IndexPut((axis,), self.flag()), x, self.number(), ids)

    def gather(self) -> None:
        """From an axis of at least as many elements as there are ids; and back into one."""
        x = self.values[0]
        ids = self.values[6]
        if self.flag():
            self.add(Gather(1), x, ids)
        else:
            source = self.add(Slice(1, 0, 4), x)
            self.add(Scatter(1, ("set", "add")[self.choose(2)]), x, ids, source)


STEPS: tuple[Callable[[Grower], None], ...] = (
    Grower.unary, Grower.square, Grower.integer_unary, Grower.logical_not, Grower.binary,
    Grower.binary_with_number, Grower.binary_with_constant, Grower.negative_sum,
    Grower.reciprocal, Grower.integer_binary, Grower.compare, Grower.logical, Grower.where,
    Grower.cast,
    Grower.reshape, Grower.reshape, Grower.permute, Grower.permute, Grower.slice, Grower.take,
    Grower.expand, Grower.expand, Grower.concat, Grower.cut_and_join, Grower.unbind_and_flatten,
    Grower.fill, Grower.iota,
    Grower.reduce, Grower.reduce_bool, Grower.along, Grower.order,
    Grower.linear, Grower.affine_linear, Grower.matmul_with_constant, Grower.matmul,
    Grower.convolution, Grower.pool, Grower.attention,
    Grower.batch_norm, Grower.row_norm,
    Grower.embedding, Grower.lookup_group, Grower.embedding_bag, Grower.index, Grower.index_put,
    Grower.gather,
)  # fmt: skip
