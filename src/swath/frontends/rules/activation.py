"""Activation functions and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swath.frontends.context import Context
from swath.frontends.promotion import Operand
from swath.frontends.refusals import missing_rule
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.rules.elementwise import clamp, float_unary, floating, same_unary
from swath.graph.ir import Value
from swath.graph.ops.base import normalize_axis

# softplus and its relatives are the identity above this, as PyTorch has it by default.
_SOFTPLUS_LIMIT = 20.0


def gelu(context: Context, x: Value, *, approximate: str = "none") -> Value:
    """x * Phi(x), exact or by tanh."""
    return context.unary("gelu_tanh" if approximate == "tanh" else "gelu", x)


def softplus(context: Context, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    """log(1 + exp(beta * x)) / beta, x where beta * x is above the threshold."""
    x = floating(context, x)
    if beta == 1 and threshold == _SOFTPLUS_LIMIT:
        return context.unary("softplus", x)
    inner = context.binary("mul", x, float(beta))
    soft = context.binary("div", context.unary("softplus", inner), float(beta))
    return context.where(context.binary("gt", inner, float(threshold)), x, soft)


def log_sigmoid(context: Context, x: Value) -> Any:
    """log(sigmoid(x))."""
    result = context.unary("neg", context.unary("softplus", context.unary("neg", x)))
    return result if len(context.results) == 1 else (result, None)


def leaky_relu(context: Context, x: Value, negative_slope: float = 0.01) -> Value:
    """x, or slope * x where x is negative."""
    scaled = context.binary("mul", x, float(negative_slope))
    return context.where(context.binary("gt", x, 0.0), x, scaled)


def prelu(context: Context, x: Value, weight: Value) -> Value:
    """leaky_relu with a slope a channel (axis 1), or one for all."""
    if weight.type.rank and weight.type.shape != (1,) and x.type.rank > 1:
        weight = context.reshape(weight, (weight.type.shape[0], *(1,) * (x.type.rank - 2)))
    elif weight.type.shape == (1,) and x.type.rank == 0:
        weight = context.reshape(weight, ())
    return context.where(context.binary("gt", x, 0.0), x, context.binary("mul", x, weight))


def elu(
    context: Context, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Value:
    """scale * (x > 0 ? x : alpha * (exp(input_scale * x) - 1))."""
    x = floating(context, x)
    inner = x if input_scale == 1 else context.binary("mul", x, float(input_scale))
    low = context.binary("mul", context.unary("expm1", inner), float(alpha * scale))
    high = x if scale == 1 else context.binary("mul", x, float(scale))
    return context.where(context.binary("gt", x, 0.0), high, low)


def selu(context: Context, x: Value) -> Value:
    """elu with the constants of self-normalising networks."""
    return elu(context, x, 1.6732632423543772, 1.0507009873554805)


def celu(context: Context, x: Value, alpha: float = 1) -> Value:
    """x > 0 ? x : alpha * (exp(x / alpha) - 1)."""
    return elu(context, x, alpha, 1, 1 / alpha)


def hardtanh(context: Context, x: Value, min_val: float = -1, max_val: float = 1) -> Value:
    """Between min_val and max_val."""
    return clamp(context, x, min_val, max_val)


def relu6(context: Context, x: Value) -> Value:
    """Between 0 and 6."""
    return clamp(context, x, 0, 6)


def hard_sigmoid(context: Context, x: Value) -> Value:
    """(x + 3) / 6 between 0 and 1."""
    shifted = clamp(context, context.binary("add", x, 3.0), 0.0, 6.0)
    return context.binary("div", shifted, 6.0)


def hard_swish(context: Context, x: Value) -> Value:
    """x * hard_sigmoid(x)."""
    shifted = clamp(context, context.binary("add", x, 3.0), 0.0, 6.0)
    return context.binary("div", context.binary("mul", x, shifted), 6.0)


def mish(context: Context, x: Value) -> Value:
    """x * tanh(softplus(x))."""
    return context.binary("mul", x, context.unary("tanh", context.unary("softplus", x)))


def soft_sign(context: Context, x: Value) -> Value:
    """x / (1 + |x|)."""
    x = floating(context, x)
    return context.binary("div", x, context.binary("add", context.unary("abs", x), 1.0))


def tanh_shrink(context: Context, x: Value) -> Value:
    """x - tanh(x)."""
    return context.binary("sub", x, context.unary("tanh", x))


def hard_shrink(context: Context, x: Value, lambd: Operand = 0.5) -> Value:
    """x, 0 where |x| <= lambd."""
    inside = context.binary("le", context.unary("abs", x), lambd)
    return context.where(inside, 0.0, x)


def soft_shrink(context: Context, x: Value, lambd: float = 0.5) -> Value:
    """x moved towards 0 by lambd."""
    high = context.binary("maximum", context.binary("sub", x, float(lambd)), 0.0)
    low = context.binary("minimum", context.binary("add", x, float(lambd)), 0.0)
    return context.binary("add", high, low)


def threshold(context: Context, x: Value, threshold: float, value: float) -> Value:
    """x where it is above the threshold, else the value."""
    keep = context.binary("le", x, threshold)
    return context.where(keep, context.typed(value, x.type.dtype), x)


def glu(context: Context, x: Value, dim: int = -1) -> Value:
    """One half of an axis times the sigmoid of the other."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    assert isinstance(size, int)
    first = context.slice(x, axis, 0, size // 2)
    second = context.slice(x, axis, size // 2, size)
    return context.binary("mul", first, context.unary("sigmoid", second))


def dropout(context: Context, x: Value, p: float = 0.5, train: bool = False) -> Value:
    """Nothing in eval mode. Raises Unsupported if the model drops elements all the same."""
    if train and p > 0:
        raise missing_rule(context.op)
    return x


RULES: Mapping[str, Rule] = {
    **aliases(same_unary("relu"), "relu.default"),
    **aliases(float_unary("silu"), "silu.default"),
    **aliases(gelu, "gelu.default"),
    **aliases(softplus, "softplus.default"),
    **aliases(log_sigmoid, "log_sigmoid.default", "log_sigmoid_forward.default"),
    **aliases(leaky_relu, "leaky_relu.default"),
    **aliases(prelu, "prelu.default", "_prelu_kernel.default"),
    **aliases(elu, "elu.default"),
    **aliases(selu, "selu.default"),
    **aliases(celu, "celu.default"),
    **aliases(hardtanh, "hardtanh.default"),
    **aliases(relu6, "relu6.default"),
    **aliases(hard_sigmoid, "hardsigmoid.default"),
    **aliases(hard_swish, "hardswish.default"),
    **aliases(mish, "mish.default"),
    **aliases(soft_sign, "softsign.default"),
    **aliases(tanh_shrink, "tanhshrink.default"),
    **aliases(hard_shrink, "hardshrink.default"),
    **aliases(soft_shrink, "softshrink.default"),
    **aliases(threshold, "threshold.default"),
    **aliases(glu, "glu.default"),
    **aliases(dropout, "dropout.default", "feature_dropout.default", "alpha_dropout.default",
              "feature_alpha_dropout.default"),
}  # fmt: skip
