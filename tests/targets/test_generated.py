"""Generated code against the interpreter, op by op, in both ISAs' source at every kind of shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from swath.graph.interpreter import interpret_rows
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import (
    ArgReduce,
    Binary,
    Cast,
    Concat,
    Convolution,
    Cumulative,
    Embedding,
    Expand,
    Gather,
    Index,
    IndexPut,
    Linear,
    LookupGroup,
    MatMul,
    Op,
    Permute,
    Pool,
    Reduce,
    Reshape,
    Scatter,
    Slice,
    Softmax,
    Sort,
    Take,
    TopK,
    Unary,
    Where,
)
from swath.graph.ops.base import RowAxis
from swath.graph.ops.elementwise import UNARY_FUNCTIONS
from swath.graph.types import DType, Space, TensorType
from tests.targets.harness import Array, Generated

F32, I64, BOOL = DType.FLOAT32, DType.INT64, DType.BOOL


@dataclass
class Case:
    """Builds one graph: `x(shape)` adds an input, `w(shape)` a constant."""

    seed: int = 0

    def __post_init__(self) -> None:
        self.builder = GraphBuilder()
        self.random = np.random.default_rng(self.seed)
        self.high: dict[str, int] = {}

    def x(self, *shape: int, dtype: DType = F32, high: int = 5) -> Value:
        value = self.builder.input("x", TensorType(dtype, (1, *shape), Space.CANDIDATE))
        self.high[value.name] = high
        return value

    def w(self, *shape: int, low: float = -1) -> Value:
        array = self.random.uniform(low, 1, shape).astype(np.float32)
        return self.constant(array)

    def constant(self, array: Array) -> Value:
        type = TensorType(DType.of(array.dtype), array.shape, Space.ONCE)
        return self.builder.constant("w", array, type)

    def add(self, op: Op, *inputs: Value) -> Value:
        return self.builder.add(op, *inputs)

    def inputs(self, graph: Graph, rows: int) -> list[Array]:
        arrays: list[Array] = []
        for value in graph.inputs:
            shape = (rows, *value.type.static_shape[1:])
            if value.type.dtype is BOOL:
                arrays.append(self.random.random(shape) < 0.5)
            elif value.type.dtype.is_integer:
                high = self.high[value.name]
                arrays.append(self.random.integers(0, high, shape).astype(value.type.dtype.numpy))
            else:
                arrays.append(self.random.normal(size=shape).astype(value.type.dtype.numpy))
        return arrays


def check(
    build: Callable[[Case], Value | tuple[Value, ...]],
    rows: int = 21,
    tolerance: float = 2e-6,
    isa: str = "x86-64-v3",
) -> Generated:
    case = Case()
    outputs = build(case)
    graph = case.builder.build(outputs if isinstance(outputs, tuple) else (outputs,))
    generated = Generated(graph, isa)
    inputs = case.inputs(graph, rows)
    axes = [RowAxis(0) for _ in graph.inputs]
    wanted = interpret_rows(graph, inputs, rows, axes, [RowAxis(0) for _ in graph.outputs])
    got = generated(inputs, rows)
    for want, have in zip(wanted, got, strict=True):
        have = have.reshape(want.shape)
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
    alone = [generated([x[row : row + 1] for x in inputs], 1) for row in range(0, rows, 5)]
    for position, row in enumerate(range(0, rows, 5)):
        for whole, one in zip(got, alone[position], strict=True):
            np.testing.assert_array_equal(whole[row], one[0])
    return generated


def relu_of(c: Case, value: Value) -> Value:
    return c.add(Unary("relu"), value)


CASES: dict[str, Callable[[Case], Value | tuple[Value, ...]]] = {
    "broadcast add": lambda c: c.add(Binary("add"), c.x(5, 7), c.x(7)),
    "column times matrix": lambda c: c.add(Binary("mul"), c.x(5, 1), c.x(5, 19)),
    "scalar rows": lambda c: c.add(Unary("sigmoid"), c.x(1)),
    "transposed": lambda c: c.add(Permute((0, 2, 1)), c.x(6, 9)),
    "expand": lambda c: c.add(Expand((1, 4, 9)), c.add(Unary("exp"), c.x(1, 9))),
    "concat of parts": lambda c: c.add(
        Concat(1), relu_of(c, c.x(3)), c.x(5), c.add(Linear(), c.x(6), c.w(20, 6), c.w(20))
    ),
    "nested concat": lambda c: c.add(
        Concat(1), c.add(Concat(1), relu_of(c, c.x(3)), c.x(2)), relu_of(c, c.x(17))
    ),
    "strided slice": lambda c: relu_of(c, c.add(Slice(1, 1, 10, 3), c.x(11))),
    "take": lambda c: c.add(Take(1, (3, 0, 0, 2)), c.x(5, 8)),
    "take of the last axis": lambda c: c.add(Take(2, (3, 0, 2)), c.x(5, 8)),
    "where": lambda c: c.add(
        Where(), c.add(Binary("gt"), x := c.x(4, 5), c.w(5)), x, c.add(Unary("neg"), x)
    ),
    "bool output": lambda c: c.add(Binary("lt"), c.x(9), c.w(9)),
    "mask arithmetic": lambda c: c.add(
        Cast(F32),
        c.add(
            Binary("logical_and"),
            c.add(Binary("gt"), x := c.x(33), c.w(33)),
            c.add(Unary("logical_not"), c.add(Binary("lt"), x, c.w(33))),
        ),
    ),
    "integers": lambda c: c.add(
        Binary("remainder"),
        c.add(Binary("sub"), c.x(7, dtype=I64), c.x(7, dtype=I64)),
        c.constant(np.array([3, -3, 2, 1, -1, 7, 5])),
    ),
    "small integers": lambda c: c.add(
        Binary("mul"), c.x(7, dtype=DType.INT8), c.constant(np.array(77, np.int8))
    ),
    "large constant": lambda c: c.add(
        Binary("add"), c.x(7, dtype=I64), c.constant(np.array(2**62 + 1))
    ),
    "integer mask": lambda c: c.add(
        Cast(F32), c.add(Binary("ne"), c.x(9, dtype=I64), c.constant(np.array(0)))
    ),
    "sum over fields": lambda c: c.add(Reduce("sum", (1,), True), c.x(26, 16)),
    "sum of products": lambda c: c.add(
        Reduce("sum", (2,), False), c.add(Binary("mul"), c.x(5, 40), c.x(5, 40))
    ),
    "mean": lambda c: c.add(Reduce("mean", (1, 2), False), c.x(5, 7)),
    "max": lambda c: relu_of(c, c.add(Reduce("max", (2,), False), c.x(5, 19))),
    "min over rows of one": lambda c: c.add(Reduce("min", (1,), False), c.x(3)),
    "prod": lambda c: c.add(Reduce("prod", (1,), False), c.x(18)),
    "any": lambda c: c.add(Reduce("any", (1,), False), c.add(Binary("gt"), c.x(3), c.w(3))),
    "softmax": lambda c: c.add(Softmax(2), c.x(5, 19)),
    "softmax across": lambda c: c.add(Softmax(1), c.x(5, 19)),
    "log softmax": lambda c: c.add(Softmax(1, log=True), c.x(26)),
    "linear": lambda c: relu_of(c, c.add(Linear(), c.x(45), c.w(70, 45), c.w(70))),
    "linear without bias": lambda c: c.add(Linear(), c.x(45), c.w(70, 45)),
    "narrow linear": lambda c: c.add(Linear(), c.x(45), c.w(1, 45), c.w(1)),
    "linear on fields": lambda c: c.add(Linear(), c.x(26, 16), c.w(24, 16), c.w(24)),
    "linear with residual": lambda c: c.add(
        Binary("add"), c.add(Binary("mul"), x := c.x(40), c.add(Linear(), x, c.w(40, 40))), x
    ),
    "product of linears": lambda c: c.add(
        Binary("mul"), c.add(Linear(), x := c.x(9), c.w(20, 9)), c.add(Linear(), x, c.w(20, 9))
    ),
    "linear used twice": lambda c: c.add(
        Binary("mul"), y := c.add(Linear(), c.x(9), c.w(20, 9), c.w(20)), y
    ),
    "bool of linear": lambda c: c.add(
        Binary("gt"), c.add(Linear(), c.x(9), c.w(20, 9)), c.constant(np.array(0, np.float32))
    ),
    "two layers": lambda c: c.add(
        Linear(), relu_of(c, c.add(Linear(), c.x(30), c.w(64, 30), c.w(64))), c.w(1, 64), c.w(1)
    ),
    "matmul of rows": lambda c: c.add(MatMul(), c.x(2, 26, 8), c.x(2, 8, 26)),
    "matmul transposed": lambda c: c.add(
        MatMul(), c.x(2, 9, 8), c.add(Permute((0, 1, 3, 2)), c.x(2, 9, 8))
    ),
    "matmul by weights": lambda c: c.add(MatMul(), c.x(5, 6, 8), c.w(5, 8, 12)),
    "matmul of weights": lambda c: c.add(MatMul(), c.w(12, 30), c.x(30, 16)),
    "matmul to a column": lambda c: c.add(MatMul(), c.x(5, 8), c.x(8, 1)),
    "matmul of a column and a row": lambda c: relu_of(c, c.add(MatMul(), c.x(5, 1), c.x(1, 19))),
    "packed pairs": lambda c: c.add(
        MatMul(), c.add(Reshape((1, 30, 1, 8)), c.x(30, 8)), c.w(30, 8, 8)
    ),
    "convolution": lambda c: relu_of(
        c,
        c.add(
            Convolution((1, 1), ((2, 2), (0, 0)), (1, 1), 1),
            c.x(1, 26, 16),
            c.w(4, 1, 5, 1),
            c.w(4),
        ),
    ),
    "convolution in groups": lambda c: c.add(
        Convolution((2,), ((1, 1),), (1,), 2), c.x(6, 17), c.w(8, 3, 3), c.w(8)
    ),
    "convolution of doubles": lambda c: c.add(
        Convolution((1,), ((1, 1),), (1,), 2),
        c.x(6, 9, dtype=DType.FLOAT64),
        c.constant(c.random.normal(size=(4, 3, 3))),
        c.constant(c.random.normal(size=4)),
    ),
    "max pool": lambda c: c.add(Pool("max", (2, 3), (2, 1), ((0, 0), (1, 1))), c.x(3, 8, 9)),
    "mean pool": lambda c: c.add(
        Pool("mean", (3,), (2,), ((1, 1),), count_padding=False), c.x(3, 9)
    ),
    "embedding": lambda c: c.add(Embedding(), c.w(9, 20), c.x(3, dtype=I64, high=9)),
    "embedding of what is computed": lambda c: c.add(
        Embedding(), relu_of(c, c.w(9, 20)), c.x(3, dtype=I64, high=9)
    ),
    "embedding of doubles": lambda c: c.add(
        Embedding(), c.constant(c.random.normal(size=(9, 5))), c.x(3, dtype=I64, high=9)
    ),
    "lookups of small words": lambda c: c.add(
        LookupGroup(),
        c.x(2, dtype=I64, high=5),
        *(c.constant(np.arange(5 * i, 5 * i + 5, dtype=np.int32)[:, None]) for i in range(2)),
    ),
    "embedding of floats": lambda c: c.add(
        Embedding(), c.w(9, 5), c.add(Cast(I64), c.add(Unary("abs"), c.x(3)))
    ),
    "lookups": lambda c: c.add(
        Reshape((1, 48)),
        c.add(LookupGroup(), c.x(3, dtype=I64, high=5), *(c.w(5 + i, 16) for i in range(3))),
    ),
    "index": lambda c: c.add(Index((1,)), c.x(7, 9), c.constant(np.array([2, -1, 0]))),
    "index by values": lambda c: c.add(
        Index((0, 1)), c.x(7, 9), c.constant(np.array([0])), c.x(dtype=I64, high=7)
    ),
    "gather": lambda c: c.add(Gather(2), c.x(3, 9), c.x(3, 4, dtype=I64, high=9)),
    "scatter add": lambda c: c.add(Scatter(1, "add"), c.x(9), c.x(4, dtype=I64, high=9), c.x(4)),
    "index put": lambda c: c.add(
        IndexPut((1,), accumulate=False), c.x(9), c.x(2), c.constant(np.array([1, 5]))
    ),
    "sort": lambda c: c.builder.add_node(Sort(1, descending=True), (c.x(40),)),
    "topk": lambda c: c.builder.add_node(TopK(3, 2, largest=True), (c.x(4, 9),)),
    "values of topk side by side": lambda c: c.builder.add_node(
        TopK(3, 1, largest=True), (c.x(9, 21),)
    )[0],
    "smallest values": lambda c: c.builder.add_node(TopK(4, 1, largest=False), (c.x(9, 21),))[0],
    "argmax": lambda c: c.add(ArgReduce("max", 2, keepdim=False), c.x(4, 9)),
    "cumsum": lambda c: c.add(Cumulative("sum", 1), c.x(9, 3)),
    "output twice": lambda c: (y := relu_of(c, c.x(5)), c.add(Unary("exp"), y)),
    "output of a view": lambda c: (x := c.x(5, 4), c.add(Permute((0, 2, 1)), x))[1],
    "reshape of a transpose": lambda c: relu_of(
        c, c.add(Reshape((1, 54)), c.add(Permute((0, 2, 1)), c.x(6, 9)))
    ),
    "float64": lambda c: c.add(Cast(F32), c.add(Unary("exp"), c.add(Cast(DType.FLOAT64), c.x(9)))),
}


@pytest.mark.parametrize("name", CASES)
def test_matches_the_interpreter(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("function", sorted(set(UNARY_FUNCTIONS) - {"bitwise_not"}))
def test_unary_functions(function: str) -> None:
    positive = function in ("log", "log1p", "log2", "sqrt", "rsqrt")

    def build(c: Case) -> Value:
        x = c.x(37, dtype=BOOL if function == "logical_not" else F32)
        return c.add(Unary(function), c.add(Unary("abs"), x) if positive else x)

    check(build, tolerance=1e-5)
