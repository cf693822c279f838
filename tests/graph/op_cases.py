"""Random cases of every op, each with the PyTorch call that it stands for.

To add a case, add a line to a table below: a name, and a function from a `Draw` (random sizes
`a` .. `d`, random arrays) to `Case(op, inputs, eager)`, where `eager` takes the inputs as tensors.
test_ops_reference.py compares numbers with it, test_ops_shapes.py types.
"""

# PyTorch is annotated in part only, and the cases are lambdas over its tensors.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

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
from swath.graph.types import DType

Array = np.ndarray[Any, np.dtype[Any]]
Eager = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """An op, its inputs, and the same in PyTorch (a tensor or a tuple of tensors)."""

    op: Op
    inputs: tuple[Array, ...]
    eager: Eager


class Draw:
    """Random sizes and arrays, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.a, self.b, self.c, self.d = (int(n) for n in self.rng.integers(1, 6, 4))

    def floats(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)

    def special(self, *shape: int) -> Array:
        """Floats with zeros, equal elements, NaN and infinities among them."""
        values = np.asarray([0, -0.0, 1, -1, 0.5, 2.5, 30, -30, np.nan, np.inf, -np.inf])
        picked = self.rng.choice(values.astype(np.float32), shape)
        return np.where(self.rng.random(shape) < 0.5, picked, self.floats(*shape) * 3)

    def ties(self, *shape: int) -> Array:
        """Floats with many equal elements and a NaN now and then."""
        values = np.asarray([-1, 0, 1, 2, 2, 2, np.nan], dtype=np.float32)
        return self.rng.choice(values, shape)

    def positive(self, *shape: int) -> Array:
        return self.rng.uniform(0.1, 4, shape).astype(np.float32)

    def ints(self, low: int, high: int, *shape: int) -> Array:
        """int64 in [low, high)."""
        return self.rng.integers(low, high, shape)

    def bools(self, *shape: int) -> Array:
        return self.rng.random(shape) < 0.5

    def ids(self, rows: int, *shape: int) -> Array:
        return self.ints(0, rows, *shape)

    def bags(self, count: int, values: int, *, last: bool = False) -> Array:
        """Offsets of `count` bags over `values` ids; with their end if `last`."""
        starts = np.sort(self.rng.integers(0, values + 1, count - 1))
        return np.concatenate([[0], starts, [values]])[: count + last].astype(np.int64)


Maker = Callable[[Draw], Case]

UNARY: Mapping[str, Eager] = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "erf": torch.erf,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "isnan": torch.isnan,
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "logical_not": torch.logical_not,
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "relu": torch.relu,
    "round": torch.round,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "softplus": F.softplus,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
BINARY: Mapping[str, Eager] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "atan2": torch.atan2,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
BITWISE: Mapping[str, Eager] = {
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
}


def _unary(function: str, eager: Eager) -> Maker:
    return lambda r: Case(Unary(function), (r.special(r.a, 7),), eager)


def _binary(function: str, eager: Eager) -> Maker:
    return lambda r: Case(Binary(function), (r.special(r.a, 1, 3), r.special(r.b, 3)), eager)


def _bitwise(function: str, eager: Eager) -> Maker:
    return lambda r: Case(Binary(function), (r.ints(-9, 9, 2, r.a), r.ints(-9, 9, r.a)), eager)


ELEMENTWISE: Mapping[str, Maker] = {
    **{name: _unary(name, eager) for name, eager in UNARY.items()},
    **{name: _binary(name, eager) for name, eager in BINARY.items()},
    **{name: _bitwise(name, eager) for name, eager in BITWISE.items()},
    "gelu": lambda r: Case(Unary("gelu"), (4 * r.floats(r.a, 5),), F.gelu),
    "gelu_tanh": lambda r: Case(
        Unary("gelu_tanh"), (4 * r.floats(r.a),), lambda x: F.gelu(x, approximate="tanh")
    ),
    "abs int": lambda r: Case(Unary("abs"), (r.ints(-9, 9, r.a),), torch.abs),
    "scalar": lambda r: Case(Unary("exp"), (r.floats(),), torch.exp),
    "bitwise_not": lambda r: Case(Unary("bitwise_not"), (r.ints(-9, 9, r.a),), torch.bitwise_not),
    "bitwise_not bool": lambda r: Case(Unary("bitwise_not"), (r.bools(r.a),), torch.bitwise_not),
    "and bool": lambda r: Case(
        Binary("bitwise_and"), (r.bools(r.a), r.bools(r.a)), torch.bitwise_and
    ),
    "add int": lambda r: Case(Binary("add"), (r.ints(-9, 9, r.a), r.ints(-9, 9)), torch.add),
    "pow int": lambda r: Case(Binary("pow"), (r.ints(-9, 9, r.a), r.ints(0, 5, r.a)), torch.pow),
    "remainder int": lambda r: Case(
        Binary("remainder"), (r.ints(-9, 9, r.a), r.ints(1, 5, r.a)), torch.remainder
    ),
    "floor_divide int": lambda r: Case(
        Binary("floor_divide"), (r.ints(-9, 9, r.a), r.ints(-5, 0, r.a)), torch.floor_divide
    ),
    "where": lambda r: Case(
        Where(), (r.bools(r.a, 1), r.special(r.b), r.special(r.a, r.b)), torch.where
    ),
    "cast to int": lambda r: Case(Cast(DType.INT64), (9 * r.floats(r.a),), lambda x: x.long()),
    "cast to bool": lambda r: Case(Cast(DType.BOOL), (r.special(r.a),), lambda x: x.bool()),
    "cast to double": lambda r: Case(Cast(DType.FLOAT64), (r.special(r.a),), lambda x: x.double()),
}

VIEWS: Mapping[str, Maker] = {
    "reshape": lambda r: Case(
        Reshape((r.b * r.a, 2)), (r.floats(r.a, 2, r.b),), lambda x: x.reshape(-1, 2)
    ),
    "reshape to scalar": lambda r: Case(Reshape(()), (r.floats(1, 1),), lambda x: x.reshape(())),
    "permute": lambda r: Case(
        Permute((2, 0, 1)), (r.floats(r.a, r.b, r.c),), lambda x: x.permute(2, 0, 1)
    ),
    "slice": lambda r: Case(Slice(1, 1, 6, 2), (r.floats(r.a, 7),), lambda x: x[:, 1:6:2]),
    "slice empty": lambda r: Case(Slice(0, r.a, r.a), (r.floats(r.a, 7),), lambda x: x[:0]),
    "take": lambda r: Case(
        Take(1, (2, 0, 2)), (r.floats(r.a, 3),), lambda x: x[:, torch.tensor([2, 0, 2])]
    ),
    "expand": lambda r: Case(
        Expand((r.b, r.a, 3)), (r.floats(r.a, 1),), lambda x: x.expand(r.b, r.a, 3)
    ),
    "concat": lambda r: Case(
        Concat(1),
        (r.floats(r.a, r.b), r.floats(r.a, 0), r.floats(r.a, r.c)),
        lambda *parts: torch.cat(parts, 1),
    ),
}

CREATION: Mapping[str, Maker] = {
    "fill": lambda r: Case(
        Fill((r.a, 2), 1.5, DType.FLOAT32), (), lambda: torch.full((r.a, 2), 1.5)
    ),
    "fill bool": lambda r: Case(
        Fill((r.a,), 1, DType.BOOL), (), lambda: torch.ones(r.a, dtype=torch.bool)
    ),
    "iota": lambda r: Case(
        Iota(r.a, -3, 2, DType.INT64), (), lambda: torch.arange(-3, -3 + 2 * r.a, 2)
    ),
    "iota float": lambda r: Case(
        Iota(r.a, 0, 1, DType.FLOAT32), (), lambda: torch.arange(r.a, dtype=torch.float32)
    ),
}

REDUCTIONS: Mapping[str, Maker] = {
    "sum": lambda r: Case(
        Reduce("sum", (0, 2), False), (r.floats(r.a, r.b, r.c),), lambda x: x.sum((0, 2))
    ),
    "sum of nothing": lambda r: Case(
        Reduce("sum", (1,), True), (r.floats(r.a, 0),), lambda x: x.sum(1, keepdim=True)
    ),
    "sum int": lambda r: Case(
        Reduce("sum", (0,), False), (r.ints(-9, 9, r.a, r.b),), lambda x: x.sum(0)
    ),
    "mean": lambda r: Case(
        Reduce("mean", (1,), True), (r.floats(r.a, r.b),), lambda x: x.mean(1, keepdim=True)
    ),
    "mean of nothing": lambda r: Case(
        Reduce("mean", (1,), False), (r.floats(r.a, 0),), lambda x: x.mean(1)
    ),
    "max": lambda r: Case(Reduce("max", (1,), False), (r.ties(r.a, r.b),), lambda x: x.amax(1)),
    "min": lambda r: Case(
        Reduce("min", (0, 1), False), (r.special(r.a, r.b),), lambda x: x.amin((0, 1))
    ),
    "prod": lambda r: Case(Reduce("prod", (1,), False), (r.floats(r.a, r.b),), lambda x: x.prod(1)),
    "any": lambda r: Case(Reduce("any", (1,), False), (r.bools(r.a, r.b),), lambda x: x.any(1)),
    "all": lambda r: Case(
        Reduce("all", (0,), True), (r.bools(r.a, r.b),), lambda x: x.all(0, keepdim=True)
    ),
    "argmax": lambda r: Case(
        ArgReduce("max", 1, False), (r.ties(r.a, r.b),), lambda x: x.argmax(1)
    ),
    "argmin": lambda r: Case(
        ArgReduce("min", 0, True), (r.ties(r.a, r.b),), lambda x: x.argmin(0, keepdim=True)
    ),
    "softmax": lambda r: Case(Softmax(1), (r.floats(r.a, r.b, r.c) * 30,), lambda x: x.softmax(1)),
    "softmax special": lambda r: Case(Softmax(1), (r.special(r.a, r.b),), lambda x: x.softmax(1)),
    "log_softmax": lambda r: Case(
        Softmax(1, log=True), (r.floats(r.a, r.b) * 30,), lambda x: x.log_softmax(1)
    ),
    "cumsum": lambda r: Case(Cumulative("sum", 1), (r.floats(r.a, r.b),), lambda x: x.cumsum(1)),
    "cumsum int": lambda r: Case(
        Cumulative("sum", 0), (r.ints(-9, 9, r.a),), lambda x: x.cumsum(0)
    ),
    "cumprod": lambda r: Case(Cumulative("prod", 0), (r.floats(r.a, r.b),), lambda x: x.cumprod(0)),
    "sort": lambda r: Case(
        Sort(1, False), (r.ties(r.a, r.b),), lambda x: tuple(torch.sort(x, dim=1, stable=True))
    ),
    "sort descending": lambda r: Case(
        Sort(0, True),
        (r.ties(r.a, r.b),),
        lambda x: tuple(torch.sort(x, dim=0, descending=True, stable=True)),
    ),
    # Which of several equal elements torch.topk gives is not defined: none here.
    "topk": lambda r: Case(
        TopK(2, 1, True), (r.floats(r.a, r.b + 1),), lambda x: tuple(torch.topk(x, 2, 1))
    ),
    "topk smallest": lambda r: Case(
        TopK(1, 0, False), (r.floats(r.a, 3),), lambda x: tuple(torch.topk(x, 1, 0, False))
    ),
}

PRODUCTS: Mapping[str, Maker] = {
    "linear": lambda r: Case(
        Linear(), (r.floats(r.a, r.b, r.c), r.floats(r.d, r.c), r.floats(r.d)), F.linear
    ),
    "linear without bias": lambda r: Case(Linear(), (r.floats(r.c), r.floats(r.d, r.c)), F.linear),
    "matmul": lambda r: Case(
        MatMul(), (r.floats(2, 1, r.a, r.b), r.floats(3, r.b, r.c)), torch.matmul
    ),
    "convolution 1d": lambda r: Case(
        Convolution((2,), ((1, 1),), (2,), 1),
        (r.floats(r.a, 3, 6), r.floats(r.b, 3, 2), r.floats(r.b)),
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, dilation=2),
    ),
    "convolution 2d": lambda r: Case(
        Convolution((1, 2), ((0, 0), (2, 2)), (1, 1), 1),
        (r.floats(r.a, 2, 5, 4), r.floats(r.b, 2, 3, 3)),
        lambda x, w: F.conv2d(x, w, stride=(1, 2), padding=(0, 2)),
    ),
    "convolution in groups": lambda r: Case(
        Convolution((1,), ((0, 0),), (1,), 2),
        (r.floats(r.a, 6, 4), r.floats(4, 3, 2), r.floats(4)),
        lambda x, w, b: F.conv1d(x, w, b, groups=2),
    ),
    "max pool": lambda r: Case(
        Pool("max", (3,), (2,), ((1, 1),)),
        (r.ties(r.a, r.b, 6),),
        lambda x: F.max_pool1d(x, 3, 2, 1),
    ),
    "max pool 2d": lambda r: Case(
        Pool("max", (2, 1), (2, 1), ((0, 0), (0, 0))),
        (r.floats(r.a, 1, 4, 3),),
        lambda x: F.max_pool2d(x, (2, 1)),
    ),
    "mean pool": lambda r: Case(
        Pool("mean", (3,), (1,), ((1, 1),)),
        (r.floats(r.a, r.b, 6),),
        lambda x: F.avg_pool1d(x, 3, 1, 1),
    ),
    "mean pool without padding": lambda r: Case(
        Pool("mean", (2, 2), (2, 2), ((1, 1), (1, 1)), count_padding=False),
        (r.floats(r.a, 1, 4, 4),),
        lambda x: F.avg_pool2d(x, 2, 2, 1, count_include_pad=False),
    ),
    "attention": lambda r: Case(
        Attention(0.5, False),
        (r.floats(r.a, 2, r.b, 4), r.floats(r.a, 2, r.c, 4), r.floats(r.a, 2, r.c, r.d)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.5),
    ),
    "attention causal": lambda r: Case(
        Attention(1.0, True),
        (r.floats(r.a, r.b, 4), r.floats(r.a, r.b, 4), r.floats(r.a, r.b, 4)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0),
    ),
    "attention with mask": lambda r: Case(
        Attention(0.5, False),
        (r.floats(r.a, r.b, 4), r.floats(r.a, r.c, 4), r.floats(r.a, r.c, 4), r.bools(r.b, r.c)),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.5),
    ),
    "attention with bias": lambda r: Case(
        Attention(0.5, False),
        (r.floats(r.a, r.b, 4), r.floats(r.a, r.c, 4), r.floats(r.a, r.c, 4), r.floats(1, r.c)),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.5),
    ),
}

LOOKUPS: Mapping[str, Maker] = {
    "embedding": lambda r: Case(
        Embedding(), (r.floats(7, r.d), r.ids(7, r.a, r.b)), lambda t, i: F.embedding(i, t)
    ),
    "embedding of scalar": lambda r: Case(
        Embedding(), (r.floats(7, r.d), r.ids(7)), lambda t, i: F.embedding(i, t)
    ),
    "lookup_group": lambda r: Case(
        LookupGroup(),
        (r.ids(4, r.a, 2), r.floats(4, r.d), r.floats(6, r.d)),
        lambda i, s, t: torch.stack([s[i[:, 0]], t[i[:, 1]]], -2),
    ),
    "bag sum": lambda r: Case(
        EmbeddingBag("sum", include_last=False),
        (r.floats(7, r.d), r.ids(7, 9), r.bags(r.a, 9)),
        lambda t, i, o: F.embedding_bag(i, t, o, mode="sum"),
    ),
    "bag sum with weights": lambda r: Case(
        EmbeddingBag("sum", include_last=True),
        (r.floats(7, r.d), r.ids(7, 9), r.bags(r.a, 9, last=True), r.floats(9)),
        lambda t, i, o, w: F.embedding_bag(
            i, t, o, mode="sum", per_sample_weights=w, include_last_offset=True
        ),
    ),
    "bag mean": lambda r: Case(
        EmbeddingBag("mean", include_last=True, padding_id=2),
        (r.floats(4, r.d), r.ids(4, 9), r.bags(r.a, 9, last=True)),
        lambda t, i, o: F.embedding_bag(
            i, t, o, mode="mean", padding_idx=2, include_last_offset=True
        ),
    ),
    "bag max": lambda r: Case(
        EmbeddingBag("max", include_last=False, padding_id=0),
        (r.floats(4, r.d), r.ids(4, 9), r.bags(r.a, 9)),
        lambda t, i, o: F.embedding_bag(i, t, o, mode="max", padding_idx=0),
    ),
}

INDEXING: Mapping[str, Maker] = {
    "index": lambda r: Case(
        Index((1,)), (r.floats(r.a, 4, r.b), r.ints(-4, 4, 2, r.c)), lambda x, i: x[:, i]
    ),
    "index adjacent": lambda r: Case(
        Index((1, 2)),
        (r.floats(r.a, 4, 3), r.ids(4, r.c, 1), r.ids(3, r.b)),
        lambda x, i, j: x[:, i, j],
    ),
    "index apart": lambda r: Case(
        Index((0, 2)),
        (r.floats(2, r.b, 3), r.ids(2, r.c), r.ids(3, r.c)),
        lambda x, i, j: x[i, :, j],
    ),
    "index_put": lambda r: Case(
        IndexPut((1,), accumulate=False),
        (r.floats(r.a, 4), r.floats(2), np.asarray([3, 1])),
        lambda x, v, i: torch.index_put(x, [torch.arange(len(x))[:, None], i], v),
    ),
    "index_put accumulate": lambda r: Case(
        IndexPut((0, 1), accumulate=True),
        (r.floats(3, 4), r.floats(r.a), r.ints(-3, 3, r.a), r.ids(4, r.a)),
        lambda x, v, i, j: torch.index_put(x, [i, j], v, accumulate=True),
    ),
    "gather": lambda r: Case(
        Gather(1), (r.floats(r.a + 1, 3), r.ids(3, r.a, r.b)), lambda x, i: torch.gather(x, 1, i)
    ),
    "gather front": lambda r: Case(
        Gather(0), (r.floats(3, r.b), r.ids(3, r.a, r.b)), lambda x, i: torch.gather(x, 0, i)
    ),
    "scatter": lambda r: Case(
        Scatter(1, "set"),
        (r.floats(r.a, 4), np.tile(r.rng.permutation(4)[:2], (r.a, 1)), r.floats(r.a, 3)),
        lambda x, i, s: torch.scatter(x, 1, i, s),
    ),
    "scatter_add": lambda r: Case(
        Scatter(0, "add"),
        (r.floats(3, r.b), r.ids(3, r.a, r.b), r.floats(r.a, r.b)),
        lambda x, i, s: torch.scatter_add(x, 0, i, s),
    ),
}

NORMS: Mapping[str, Maker] = {
    "batch_norm": lambda r: Case(
        BatchNorm(1e-3),
        (r.floats(r.a, r.b, 2), r.floats(r.b), r.positive(r.b), r.floats(r.b), r.floats(r.b)),
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, eps=1e-3),
    ),
    "layer_norm": lambda r: Case(
        LayerNorm(2, 1e-5),
        (r.floats(r.a, r.b, 3), r.floats(r.b, 3), r.floats(r.b, 3)),
        lambda x, w, b: F.layer_norm(x, w.shape, w, b),
    ),
    "layer_norm plain": lambda r: Case(
        LayerNorm(1, 1e-5), (r.floats(r.a, 4),), lambda x: F.layer_norm(x, (4,))
    ),
    "rms_norm": lambda r: Case(
        RmsNorm(1, 1e-5),
        (r.floats(r.a, 4), r.floats(4)),
        lambda x, w: F.rms_norm(x, (4,), w, eps=1e-5),
    ),
}

CASES: Mapping[str, Maker] = {
    **ELEMENTWISE,
    **VIEWS,
    **CREATION,
    **REDUCTIONS,
    **PRODUCTS,
    **LOOKUPS,
    **INDEXING,
    **NORMS,
}
