"""Ops that combine the elements along axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from swath.frontends.context import Context
from swath.frontends.promotion import Operand, graph_dtype
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.rules.elementwise import floating
from swath.frontends.rules.views import flat_size
from swath.frontends.unsupported import mixes_rows
from swath.graph.ir import Value
from swath.graph.ops import ArgReduce, Cumulative, Softmax
from swath.graph.ops.base import normalize_axis
from swath.graph.types import DType

Axes = int | Sequence[int] | None


def all_axes(x: Value, dim: Axes) -> tuple[int, ...]:
    """Non-negative axes; none given means all."""
    if isinstance(dim, int):
        dim = (dim,)
    if not dim:
        return tuple(range(x.type.rank))
    if x.type.rank == 0:
        return ()
    return tuple(sorted(normalize_axis(axis, x.type.rank) for axis in dim))


def sum_(context: Context, x: Value, dim: Axes = None, keepdim: bool = False, **_: Any) -> Value:
    """The sum, in the type that torch states."""
    x = context.cast(x, context.result.dtype)
    return context.reduce("sum", x, all_axes(x, dim), keepdim)


def mean(context: Context, x: Value, dim: Axes = None, keepdim: bool = False, **_: Any) -> Value:
    """The mean."""
    x = context.cast(x, context.result.dtype)
    return context.reduce("mean", x, all_axes(x, dim), keepdim)


def nansum(context: Context, x: Value, dim: Axes = None, keepdim: bool = False, **_: Any) -> Value:
    """The sum with NaN as 0."""
    if x.type.dtype.is_float:
        x = context.where(context.unary("isnan", x), 0.0, x)
    return sum_(context, x, dim, keepdim)


def extreme(function: str) -> Rule:
    """max, min over all or over given axes; over one axis with its position."""

    def rule(context: Context, x: Value, dim: Axes = None, keepdim: bool = False) -> Any:
        value = context.reduce(function, x, all_axes(x, dim), keepdim)
        if len(context.results) < 2:
            return value
        assert isinstance(dim, int)
        return value, position(context, x, function, dim, keepdim)

    return rule


def position(context: Context, x: Value, function: str, dim: int, keepdim: bool) -> Value:
    """Where the extreme of an axis is."""
    if x.type.rank == 0:
        return context.fill((), 0, DType.INT64)
    axis = normalize_axis(dim, x.type.rank)
    return context.add(ArgReduce(function, axis, keepdim), x)


def arg(function: str) -> Rule:
    """argmax, argmin: over an axis, or over all elements in order."""

    def rule(context: Context, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        if dim is not None:
            return position(context, x, function, dim, keepdim)
        if x.type.has_batch:
            raise mixes_rows(context.op, "searches all rows of the batch at once")
        flat = context.reshape(x, (flat_size(x),))
        return context.reshape(position(context, flat, function, 0, False), context.result.shape)

    return rule


def aminmax(
    context: Context, x: Value, *, dim: int | None = None, keepdim: bool = False
) -> tuple[Value, Value]:
    """Both extremes."""
    axes = all_axes(x, dim)
    return context.reduce("min", x, axes, keepdim), context.reduce("max", x, axes, keepdim)


def prod(context: Context, x: Value, dim: Axes = None, keepdim: bool = False, **_: Any) -> Value:
    """The product."""
    x = context.cast(x, context.result.dtype)
    return context.reduce("prod", x, all_axes(x, dim), keepdim)


def truth_of(function: str) -> Rule:
    """any, all."""

    def rule(context: Context, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
        truth = context.cast(x, DType.BOOL)
        result = context.reduce(function, truth, all_axes(x, dim), keepdim)
        return context.cast(result, context.result.dtype)

    return rule


def count_nonzero(context: Context, x: Value, dim: Axes = None) -> Value:
    """How many elements are not zero."""
    hits = context.cast(context.cast(x, DType.BOOL), DType.INT64)
    return context.reduce("sum", hits, all_axes(x, dim), False)


def elements(context: Context, x: Value, axes: Sequence[int]) -> int:
    """The number of elements along axes. Raises Unsupported if the batch is among them."""
    count = 1
    for axis in axes:
        size = x.type.shape[axis]
        if not isinstance(size, int):
            raise mixes_rows(context.op, "runs over the batch axis")
        count *= size
    return count


def variance(
    context: Context, x: Value, axes: tuple[int, ...], correction: float, keepdim: bool
) -> tuple[Value, Value]:
    """Variance and mean."""
    count = elements(context, x, axes)
    centre = context.reduce("mean", x, axes, True)
    squares = context.unary("square", context.binary("sub", x, centre))
    total = context.reduce("sum", squares, axes, keepdim)
    divisor = max(count - correction, 0.0)
    result = context.binary("div", total, float(divisor))
    return result, context.reduce("mean", x, axes, keepdim)


def spread(root: bool, with_mean: bool) -> Rule:
    """var, std, var_mean, std_mean in the overloads that state a correction."""

    def rule(
        context: Context,
        x: Value,
        dim: Axes = None,
        *,
        correction: float | None = None,
        keepdim: bool = False,
    ) -> Any:
        axes = all_axes(x, dim)
        value, centre = variance(context, x, axes, 1 if correction is None else correction, keepdim)
        value = context.unary("sqrt", value) if root else value
        return (value, centre) if with_mean else value

    return rule


def spread_unbiased(root: bool, with_mean: bool) -> Rule:
    """The overloads that say `unbiased` instead."""
    general = spread(root, with_mean)

    def rule(
        context: Context, x: Value, dim: Axes = None, unbiased: bool = True, keepdim: bool = False
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return general(context, x, dim, correction=float(unbiased), keepdim=keepdim)

    return rule


def vector_norm(
    context: Context,
    x: Value,
    ord: Operand | None = 2,
    dim: Axes = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Value:
    """The p-norm over axes."""
    if dtype is not None:
        x = context.cast(x, graph_dtype(dtype))
    x = floating(context, x)
    axes = all_axes(x, dim)
    order = 2.0 if ord is None else ord
    if order == 2:
        return context.unary(
            "sqrt", context.reduce("sum", context.unary("square", x), axes, keepdim)
        )
    if order == 0:
        hits = context.cast(context.binary("ne", x, 0.0), x.type.dtype)
        return context.reduce("sum", hits, axes, keepdim)
    size = context.unary("abs", x)
    if order == 1:
        return context.reduce("sum", size, axes, keepdim)
    if order in (math.inf, -math.inf):
        return context.reduce("max" if order == math.inf else "min", size, axes, keepdim)
    assert isinstance(order, int | float)
    powers = context.reduce("sum", context.binary("pow", size, float(order)), axes, keepdim)
    return context.binary("pow", powers, 1 / float(order))


def pairwise_distance(
    context: Context, a: Value, b: Value, p: float = 2, eps: float = 1e-6, keepdim: bool = False
) -> Value:
    """The p-norm of a - b + eps over the last axis."""
    gap = context.binary("add", context.binary("sub", a, b), eps)
    return vector_norm(context, gap, p, -1, keepdim)


def logsumexp(context: Context, x: Value, dim: Axes, keepdim: bool = False) -> Value:
    """log of the sum of exp, without overflow."""
    x = floating(context, x)
    axes = all_axes(x, dim)
    top = context.reduce("max", x, axes, True)
    infinite = context.binary("eq", context.unary("abs", top), math.inf)
    top = context.where(infinite, 0.0, top)
    total = context.reduce("sum", context.unary("exp", context.binary("sub", x, top)), axes, True)
    result = context.binary("add", context.unary("log", total), top)
    return result if keepdim else context.reshape(result, context.result.shape)


def softmax(log: bool) -> Rule:
    """softmax or its logarithm, in the type that torch states."""

    def rule(context: Context, x: Value, dim: int, *_: Any, **__: Any) -> Value:
        x = context.cast(x, context.result.dtype)
        if x.type.rank == 0:
            return context.fill((), 0.0 if log else 1.0, x.type.dtype)
        axis = normalize_axis(dim, x.type.rank)
        elements(context, x, (axis,))
        return context.add(Softmax(axis, log), x)

    return rule


def cumulative(function: str) -> Rule:
    """cumsum, cumprod."""

    def rule(context: Context, x: Value, dim: int, **_: Any) -> Value:
        x = context.cast(x, context.result.dtype)
        if x.type.rank == 0:
            return x
        axis = normalize_axis(dim, x.type.rank)
        elements(context, x, (axis,))
        return context.add(Cumulative(function, axis), x)

    return rule


def reduced(context: Context, loss: Value, reduction: int) -> Value:
    """A loss as it is (0), its mean (1) or its sum (2)."""
    axes = tuple(range(loss.type.rank))
    return (
        loss
        if reduction == 0
        else context.reduce("mean" if reduction == 1 else "sum", loss, axes, False)
    )


def mse_loss(context: Context, a: Value, b: Value, reduction: int = 1) -> Value:
    """(a - b)^2."""
    return reduced(context, context.unary("square", context.binary("sub", a, b)), reduction)


def l1_loss(context: Context, a: Value, b: Value, reduction: int = 1) -> Value:
    """|a - b|."""
    return reduced(context, context.unary("abs", context.binary("sub", a, b)), reduction)


RULES: Mapping[str, Rule] = {
    **aliases(sum_, "sum.default", "sum.dim_IntList"),
    **aliases(mean, "mean.default", "mean.dim"),
    **aliases(nansum, "nansum.default"),
    **aliases(extreme("max"), "max.default", "max.dim", "amax.default"),
    **aliases(extreme("min"), "min.default", "min.dim", "amin.default"),
    **aliases(arg("max"), "argmax.default"),
    **aliases(arg("min"), "argmin.default"),
    **aliases(aminmax, "aminmax.default"),
    **aliases(prod, "prod.default", "prod.dim_int"),
    **aliases(truth_of("any"), "any.default", "any.dim", "any.dims"),
    **aliases(truth_of("all"), "all.default", "all.dim", "all.dims"),
    **aliases(count_nonzero, "count_nonzero.default", "count_nonzero.dim_IntList"),
    **aliases(spread(False, False), "var.correction"),
    **aliases(spread(True, False), "std.correction"),
    **aliases(spread(False, True), "var_mean.correction"),
    **aliases(spread(True, True), "std_mean.correction"),
    **aliases(spread_unbiased(False, False), "var.default", "var.dim"),
    **aliases(spread_unbiased(True, False), "std.default", "std.dim"),
    **aliases(spread_unbiased(False, True), "var_mean.default", "var_mean.dim"),
    **aliases(spread_unbiased(True, True), "std_mean.default", "std_mean.dim"),
    **aliases(vector_norm, "linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar",
              "norm.ScalarOpt_dim_dtype", "linalg_norm.default"),
    **aliases(pairwise_distance, "pairwise_distance.default"),
    **aliases(logsumexp, "logsumexp.default", "special_logsumexp.default"),
    **aliases(softmax(False), "softmax.int", "_softmax.default", "special_softmax.default"),
    **aliases(softmax(True), "log_softmax.int", "_log_softmax.default",
              "special_log_softmax.default"),
    **aliases(cumulative("sum"), "cumsum.default"),
    **aliases(cumulative("prod"), "cumprod.default"),
    **aliases(mse_loss, "mse_loss.default"),
    **aliases(l1_loss, "l1_loss.default"),
}  # fmt: skip
