"""Matrix products in all their forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swath.frontends.context import Context
from swath.frontends.promotion import Operand
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.rules.elementwise import scaled
from swath.frontends.rules.views import last_two_exchanged
from swath.frontends.unsupported import unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Linear
from swath.graph.ops.base import normalize_axis, product


def linear(context: Context, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """input @ weight.T + bias."""
    if weight.type.rank == 1:
        result = matmul(context, input, weight)
        return result if bias is None else context.binary("add", result, bias)
    if weight.type.has_batch:
        result = matmul(context, input, last_two_exchanged(context, weight))
        return result if bias is None else context.binary("add", result, bias)
    x = context.unsqueeze(input, 0) if input.type.rank == 1 else input
    inputs = (x, weight) if bias is None else (x, weight, bias)
    return context.reshape(context.add(Linear(), *inputs), context.result.shape)


def matmul(context: Context, a: Value, b: Value) -> Value:
    """torch.matmul: vectors count as a row on the left and as a column on the right."""
    if a.type.rank == 1 and b.type.rank == 1:
        return context.reduce("sum", context.binary("mul", a, b), (0,), False)
    left = context.unsqueeze(a, 0) if a.type.rank == 1 else a
    right = context.unsqueeze(b, 1) if b.type.rank == 1 else b
    result = context.matmul(left, right)
    if a.type.rank == 1:
        return context.drop_axis(result, result.type.rank - 2)
    return context.drop_axis(result, result.type.rank - 1) if b.type.rank == 1 else result


def inner(context: Context, a: Value, b: Value) -> Value:
    """The sum of products over the last axes."""
    if a.type.rank == 0 or b.type.rank == 0:
        return context.binary("mul", a, b)
    return tensordot(context, a, b, (-1,), (-1,))


def added(context: Context, bias: Value, product: Value, beta: Operand, alpha: Operand) -> Value:
    """beta * bias + alpha * product."""
    if beta == 0 and not isinstance(beta, Value):
        return context.typed(scaled(context, product, alpha), product.type.dtype)
    return context.binary("add", scaled(context, bias, beta), scaled(context, product, alpha))


def addmm(
    context: Context, input: Value, a: Value, b: Value, *, beta: Operand = 1, alpha: Operand = 1
) -> Value:
    """beta * input + alpha * (a @ b)."""
    return added(context, input, matmul(context, a, b), beta, alpha)


def addbmm(
    context: Context, input: Value, a: Value, b: Value, *, beta: Operand = 1, alpha: Operand = 1
) -> Value:
    """beta * input + alpha * sum over the first axis of (a @ b)."""
    total = context.reduce("sum", context.matmul(a, b), (0,), False)
    return added(context, input, total, beta, alpha)


def outer(context: Context, a: Value, b: Value) -> Value:
    """All products of an element of a and one of b."""
    return context.binary("mul", context.unsqueeze(a, 1), context.unsqueeze(b, 0))


def addr(
    context: Context, input: Value, a: Value, b: Value, *, beta: Operand = 1, alpha: Operand = 1
) -> Value:
    """beta * input + alpha * outer(a, b)."""
    return added(context, input, outer(context, a, b), beta, alpha)


def chain(context: Context, tensors: Sequence[Value]) -> Value:
    """The matrix product of several, from the left."""
    result = tensors[0]
    for value in tensors[1:]:
        result = matmul(context, result, value)
    return result


def tensordot(
    context: Context, a: Value, b: Value, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Value:
    """The sum of products over pairs of axes."""
    of_a = [normalize_axis(dim, a.type.rank) for dim in dims_self]
    of_b = [normalize_axis(dim, b.type.rank) for dim in dims_other]
    free_a = [axis for axis in range(a.type.rank) if axis not in of_a]
    free_b = [axis for axis in range(b.type.rank) if axis not in of_b]
    summed = product(tuple(a.type.shape[axis] for axis in of_a))
    left = context.permute(a, (*free_a, *of_a))
    left = context.reshape(left, (*left.type.shape[: len(free_a)], summed))
    right = context.permute(b, (*of_b, *free_b))
    columns = product(right.type.shape[len(of_b) :])
    right = context.reshape(right, (summed, columns))
    if left.type.rank == 1:
        left = context.unsqueeze(left, 0)
    return context.reshape(context.matmul(left, right), context.result.shape)


def bilinear(
    context: Context, a: Value, b: Value, weight: Value, bias: Value | None = None
) -> Value:
    """out[..., o] = sum over i, j of a[..., i] * weight[o, i, j] * b[..., j] + bias[o]."""
    outputs, rows, columns = weight.type.static_shape
    flat = context.reshape(weight, (outputs * rows, columns))
    products = context.add(Linear(), b, flat)
    products = context.reshape(products, (*b.type.shape[:-1], outputs, rows))
    weighted = context.binary("mul", products, context.unsqueeze(a, a.type.rank - 1))
    result = context.reduce("sum", weighted, (weighted.type.rank - 1,), False)
    return result if bias is None else context.binary("add", result, bias)


def multi_head(context: Context, *_: Any, **__: Any) -> Value:
    """PyTorch's fused transformer kernels."""
    raise unsupported_form(context.op, "the fused kernels of PyTorch's transformer fast path")


RULES: Mapping[str, Rule] = {
    **aliases(linear, "linear.default"),
    **aliases(matmul, "matmul.default", "mm.default", "bmm.default", "mv.default",
              "dot.default", "vdot.default", "linalg_matmul.default"),
    **aliases(inner, "inner.default"),
    **aliases(addmm, "addmm.default", "baddbmm.default", "addmv.default"),
    **aliases(addbmm, "addbmm.default"),
    **aliases(addr, "addr.default"),
    **aliases(outer, "outer.default", "ger.default"),
    **aliases(chain, "chain_matmul.default", "linalg_multi_dot.default"),
    **aliases(tensordot, "tensordot.default"),
    **aliases(bilinear, "bilinear.default"),
    **aliases(multi_head, "_native_multi_head_attention.default",
              "_transformer_encoder_layer_fwd.default"),
}  # fmt: skip
