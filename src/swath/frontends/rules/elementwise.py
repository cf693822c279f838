"""Element-wise ops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from swath.frontends.context import Context
from swath.frontends.promotion import Operand, promote
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import unsupported_form
from swath.graph.ir import Value
from swath.graph.ops.base import normalize_axis
from swath.graph.types import DType


def floating(context: Context, x: Operand) -> Value:
    """`x` in the float type of the result."""
    dtype = context.result.dtype
    return context.typed(x, dtype if dtype.is_float else DType.FLOAT32)


def float_unary(function: str) -> Rule:
    """A function that makes floats of integers."""

    def rule(context: Context, x: Value) -> Value:
        return context.unary(function, floating(context, x))

    return rule


def same_unary(function: str) -> Rule:
    """A function that keeps the element type."""

    def rule(context: Context, x: Value) -> Value:
        return context.unary(function, x)

    return rule


def rounding(function: str) -> Rule:
    """A rounding function: integers stay as they are."""

    def rule(context: Context, x: Value, *, decimals: int = 0) -> Value:
        if decimals:
            raise unsupported_form(context.op, "decimals")
        return context.unary(function, x) if x.type.dtype.is_float else x

    return rule


def arithmetic(function: str) -> Rule:
    """a (function) b, of arithmetic or comparison, both in their common type."""

    def rule(context: Context, a: Operand, b: Operand) -> Value:
        return context.binary(function, a, b)

    return rule


def scaled(context: Context, x: Operand, alpha: Operand) -> Operand:
    """alpha * x."""
    return x if alpha == 1 and not isinstance(alpha, Value) else context.binary("mul", x, alpha)


def add(context: Context, a: Operand, b: Operand, *, alpha: Operand = 1) -> Value:
    """a + alpha * b; of bools a logical or."""
    if context.result.dtype is DType.BOOL:
        return logical("logical_or")(context, a, b)
    return context.binary("add", a, scaled(context, b, alpha))


def sub(context: Context, a: Operand, b: Operand, *, alpha: Operand = 1) -> Value:
    """a - alpha * b."""
    return context.binary("sub", a, scaled(context, b, alpha))


def rsub(context: Context, a: Operand, b: Operand, alpha: Operand = 1) -> Value:
    """b - alpha * a."""
    return context.binary("sub", b, scaled(context, a, alpha))


def mul(context: Context, a: Operand, b: Operand) -> Value:
    """a * b; of bools a logical and."""
    if context.result.dtype is DType.BOOL:
        return logical("logical_and")(context, a, b)
    return context.binary("mul", a, b)


def div(context: Context, a: Operand, b: Operand, *, rounding_mode: str | None = None) -> Value:
    """a / b; integers divide to floats unless a rounding mode is given."""
    if rounding_mode is None:
        return context.binary("div", a, b, context.result.dtype)
    if rounding_mode == "floor":
        return context.binary("floor_divide", a, b)
    if context.result.dtype.is_float:
        return context.unary("trunc", context.binary("div", a, b))
    dtype = context.result.dtype
    left, right = context.typed(a, dtype), context.typed(b, dtype)
    quotient = context.binary(
        "floor_divide", context.unary("abs", left), context.unary("abs", right)
    )
    signs = context.binary("mul", context.unary("sign", left), context.unary("sign", right))
    return context.binary("mul", quotient, signs)


def fmod(context: Context, a: Operand, b: Operand) -> Value:
    """The remainder with the sign of a."""
    dtype = promote((a, b))
    left, right = context.typed(a, dtype), context.typed(b, dtype)
    size = context.binary("remainder", context.unary("abs", left), context.unary("abs", right))
    return context.where(context.binary("lt", left, 0), context.unary("neg", size), size)


def power(context: Context, a: Operand, b: Operand) -> Value:
    """a ** b, with the exponents that PyTorch computes in another way."""
    dtype = context.result.dtype
    base = context.typed(a, dtype)
    exponent = b if isinstance(b, int | float) else None
    if exponent == 1:
        return base
    if exponent == 2:
        return context.unary("square", base)
    if exponent == 3:
        return context.binary("mul", context.unary("square", base), base)
    if dtype.is_float:
        if exponent == 0.5:
            return context.unary("sqrt", base)
        if exponent == -0.5:
            return context.unary("rsqrt", base)
        if exponent == -1:
            return context.unary("reciprocal", base)
        if exponent == -2:
            return context.unary("reciprocal", context.unary("square", base))
    return context.binary("pow", base, context.typed(b, dtype))


def logical(function: str) -> Rule:
    """A logical function of the truth of both."""

    def rule(context: Context, a: Operand, b: Operand) -> Value:
        return context.binary(function, truth(context, a), truth(context, b), DType.BOOL)

    return rule


def truth(context: Context, x: Operand) -> Operand:
    """x as a bool."""
    return context.cast(x, DType.BOOL) if isinstance(x, Value) else bool(x)


def bitwise(function: str, of_bools: str) -> Rule:
    """A bitwise function, logical on bools."""

    def rule(context: Context, a: Operand, b: Operand) -> Value:
        return context.binary(of_bools if context.result.dtype is DType.BOOL else function, a, b)

    return rule


def bitwise_not(context: Context, x: Value) -> Value:
    """Not."""
    return context.unary("logical_not" if x.type.dtype is DType.BOOL else "bitwise_not", x)


def logical_not(context: Context, x: Value) -> Value:
    """True where x is zero."""
    return context.unary("logical_not", context.cast(x, DType.BOOL))


def shift(left: bool) -> Rule:
    """x * 2**n or x // 2**n, for a number n."""

    def rule(context: Context, x: Value, n: Operand) -> Value:
        bits = context.known_scalar(context.operand(n))
        if not isinstance(bits, int):
            raise unsupported_form(context.op, "a number of bits that depends on the data")
        return context.binary("mul" if left else "floor_divide", x, 1 << bits)

    return rule


def clamp(
    context: Context, x: Value, min: Operand | None = None, max: Operand | None = None
) -> Value:
    """min <= x <= max; NaN stays."""
    dtype = context.result.dtype
    x = context.cast(x, dtype)
    if min is not None:
        x = context.binary("maximum", x, min, dtype)
    return x if max is None else context.binary("minimum", x, max, dtype)


def clamp_min(context: Context, x: Value, min: Operand) -> Value:
    """At least min."""
    return clamp(context, x, min)


def clamp_max(context: Context, x: Value, max: Operand) -> Value:
    """At most max."""
    return clamp(context, x, None, max)


def ignoring_nan(function: str) -> Rule:
    """fmax, fmin: NaN only if both are."""

    def rule(context: Context, a: Value, b: Value) -> Value:
        a = context.where(context.unary("isnan", a), b, a)
        b = context.where(context.unary("isnan", b), a, b)
        return context.binary(function, a, b)

    return rule


def where(context: Context, condition: Value, a: Operand, b: Operand) -> Value:
    """condition ? a : b."""
    return context.where(condition, a, b)


def masked_fill(context: Context, x: Value, mask: Value, value: Operand) -> Value:
    """mask ? value : x, in the type of x."""
    dtype = x.type.dtype
    return context.where(mask, context.typed(context.operand(value), dtype), x)


def isinf(context: Context, x: Value) -> Value:
    """|x| is infinite."""
    return context.binary("eq", context.unary("abs", x), math.inf)


def isfinite(context: Context, x: Value) -> Value:
    """|x| is finite and not NaN."""
    return context.binary("lt", context.unary("abs", x), math.inf)


def isnan(context: Context, x: Value) -> Value:
    """x is NaN."""
    if not x.type.dtype.is_float:
        return context.binary("ne", x, x)
    return context.unary("isnan", x)


def nan_to_num(
    context: Context,
    x: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Value:
    """NaN and infinities as numbers (by default 0 and the largest of the type)."""
    if not x.type.dtype.is_float:
        return x
    largest = 1.7976931348623157e308 if x.type.dtype is DType.FLOAT64 else 3.4028234663852886e38
    result = context.where(context.unary("isnan", x), nan or 0.0, x)
    high = context.binary("eq", x, math.inf)
    result = context.where(high, largest if posinf is None else posinf, result)
    low = context.binary("eq", x, -math.inf)
    return context.where(low, -largest if neginf is None else neginf, result)


def addcmul(context: Context, x: Value, a: Value, b: Value, *, value: Operand = 1) -> Value:
    """x + value * a * b."""
    return context.binary("add", x, scaled(context, context.binary("mul", a, b), value))


def addcdiv(context: Context, x: Value, a: Value, b: Value, *, value: Operand = 1) -> Value:
    """x + value * a / b."""
    return context.binary("add", x, scaled(context, context.binary("div", a, b), value))


def lerp(context: Context, start: Value, end: Value, weight: Operand) -> Value:
    """start + weight * (end - start)."""
    step = context.binary("mul", context.binary("sub", end, start), weight)
    return context.binary("add", start, step)


def hypot(context: Context, a: Value, b: Value) -> Value:
    """sqrt(a^2 + b^2)."""
    total = context.binary("add", context.unary("square", a), context.unary("square", b))
    return context.unary("sqrt", total)


def logaddexp(context: Context, a: Value, b: Value) -> Value:
    """log(exp(a) + exp(b))."""
    gap = context.unary("abs", context.binary("sub", a, b))
    tail = context.unary("log1p", context.unary("exp", context.unary("neg", gap)))
    return context.binary("add", context.binary("maximum", a, b), tail)


def xlogy(context: Context, a: Operand, b: Operand) -> Value:
    """a * log(b), zero where a is."""
    dtype = context.result.dtype
    left, right = context.typed(a, dtype), context.typed(b, dtype)
    product = context.binary("mul", left, context.unary("log", right))
    product = context.where(context.binary("eq", left, 0.0), 0.0, product)
    return context.where(context.unary("isnan", right), right, product)


def cast_to_result(context: Context, x: Value, *_: Any, **__: Any) -> Value:
    """All forms of `to`: the element type that torch states."""
    return context.cast(x, context.result.dtype)


def identity(context: Context, x: Value, *_: Any, **__: Any) -> Value:  # noqa: ARG001
    """The same value."""
    return x


def square(context: Context, x: Value) -> Value:
    """x * x."""
    return context.unary("square", x)


def scaled_function(function: str, before: float, after: float) -> Rule:
    """after * function(before * x)."""

    def rule(context: Context, x: Value) -> Value:
        value = floating(context, x)
        if before != 1:
            value = context.binary("mul", value, before)
        value = context.unary(function, value)
        return value if after == 1 else context.binary("mul", value, after)

    return rule


def tan(context: Context, x: Value) -> Value:
    """sin / cos."""
    x = floating(context, x)
    return context.binary("div", context.unary("sin", x), context.unary("cos", x))


def hyperbolic(sign: str) -> Rule:
    """sinh, cosh."""

    def rule(context: Context, x: Value) -> Value:
        x = floating(context, x)
        if sign == "sub":  # expm1 keeps small arguments exact
            up, down = context.unary("expm1", x), context.unary("expm1", context.unary("neg", x))
        else:
            up, down = context.unary("exp", x), context.unary("exp", context.unary("neg", x))
        return context.binary("mul", context.binary(sign, up, down), 0.5)

    return rule


def atan(context: Context, x: Value) -> Value:
    """atan2(x, 1)."""
    return context.binary("atan2", floating(context, x), 1.0)


def erfc(context: Context, x: Value) -> Value:
    """1 - erf(x)."""
    return context.binary("sub", 1.0, context.unary("erf", floating(context, x)))


def logit(context: Context, x: Value, eps: float | None = None) -> Value:
    """log(x / (1 - x))."""
    x = floating(context, x)
    if eps is not None:
        x = clamp(context, x, eps, 1 - eps)
    return context.unary("log", context.binary("div", x, context.binary("sub", 1.0, x)))


def frac(context: Context, x: Value) -> Value:
    """x - trunc(x)."""
    return context.binary("sub", x, context.unary("trunc", x))


def cosine_similarity(
    context: Context, a: Value, b: Value, dim: int = 1, eps: float = 1e-8
) -> Value:
    """The scalar product over the product of the lengths, each at least eps."""
    a, b = context.broadcast((a, b))
    axis = normalize_axis(dim, a.type.rank)

    def unit(x: Value) -> Value:
        total = context.reduce("sum", context.unary("square", x), (axis,), True)
        return context.binary(
            "div", x, context.binary("maximum", context.unary("sqrt", total), eps)
        )

    return context.reduce("sum", context.binary("mul", unit(a), unit(b)), (axis,), False)


_FLOAT_FUNCTIONS = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "erf",
    "sigmoid",
    "reciprocal",
)

_BASIC: dict[str, Rule] = {
    **{f"aten.{name}.default": float_unary(name) for name in _FLOAT_FUNCTIONS},
    **aliases(same_unary("abs"), "abs.default", "absolute.default"),
    **aliases(same_unary("neg"), "neg.default", "negative.default"),
    **aliases(same_unary("sign"), "sign.default", "sgn.default"),
    **aliases(square, "square.default"),
    **{f"aten.{name}.default": rounding(name) for name in ("floor", "ceil", "trunc")},
    **aliases(rounding("trunc"), "fix.default"),
    **aliases(rounding("round"), "round.default", "round.decimals"),
    **aliases(scaled_function("log", 1, 1 / math.log(10)), "log10.default"),
    **aliases(scaled_function("exp", math.log(2), 1), "exp2.default", "special_exp2.default"),
    **aliases(tan, "tan.default"),
    **aliases(hyperbolic("sub"), "sinh.default"),
    **aliases(hyperbolic("add"), "cosh.default"),
    **aliases(atan, "atan.default", "arctan.default"),
    **aliases(erfc, "erfc.default", "special_erfc.default"),
    **aliases(float_unary("erf"), "special_erf.default"),
    **aliases(float_unary("sigmoid"), "special_expit.default"),
    **aliases(float_unary("expm1"), "special_expm1.default"),
    **aliases(float_unary("log1p"), "special_log1p.default"),
    **aliases(logit, "logit.default", "special_logit.default"),
    **aliases(frac, "frac.default"),
    **aliases(isnan, "isnan.default"),
    **aliases(isinf, "isinf.default"),
    **aliases(isfinite, "isfinite.default"),
    **aliases(nan_to_num, "nan_to_num.default"),
    **aliases(bitwise_not, "bitwise_not.default"),
    **aliases(logical_not, "logical_not.default"),
}

_TENSOR_AND_SCALAR = ("{}.Tensor", "{}.Scalar")


def _both(rule: Rule, *names: str) -> Mapping[str, Rule]:
    """The rule for tensor and number operands, of several spellings."""
    keys = [form.format(name) for name in names for form in _TENSOR_AND_SCALAR]
    return aliases(rule, *keys)


_BINARY: dict[str, Rule] = {
    **_both(add, "add"),
    **_both(sub, "sub", "subtract"),
    **_both(rsub, "rsub"),
    **_both(mul, "mul", "multiply"),
    **_both(div, "div", "divide", "true_divide"),
    **aliases(div, "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode"),
    **aliases(arithmetic("floor_divide"), "floor_divide.default", "floor_divide.Scalar"),
    **_both(arithmetic("remainder"), "remainder"),
    **aliases(arithmetic("remainder"), "remainder.Scalar_Tensor"),
    **_both(fmod, "fmod"),
    **aliases(power, "pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar",
              "float_power.Tensor_Scalar", "float_power.Tensor_Tensor"),
    **aliases(float_unary("square"), "special_square.default"),
    **aliases(arithmetic("minimum"), "minimum.default", "min.other"),
    **aliases(arithmetic("maximum"), "maximum.default", "max.other"),
    **aliases(ignoring_nan("maximum"), "fmax.default"),
    **aliases(ignoring_nan("minimum"), "fmin.default"),
    **aliases(arithmetic("atan2"), "atan2.default", "arctan2.default"),
    **_both(arithmetic("eq"), "eq"),
    **_both(arithmetic("ne"), "ne", "not_equal"),
    **_both(arithmetic("lt"), "lt", "less"),
    **_both(arithmetic("le"), "le", "less_equal"),
    **_both(arithmetic("gt"), "gt", "greater"),
    **_both(arithmetic("ge"), "ge", "greater_equal"),
    **{f"aten.{name}.default": logical(name)
       for name in ("logical_and", "logical_or", "logical_xor")},
    **_both(bitwise("bitwise_and", "logical_and"), "bitwise_and", "__and__"),
    **_both(bitwise("bitwise_or", "logical_or"), "bitwise_or", "__or__"),
    **_both(bitwise("bitwise_xor", "logical_xor"), "bitwise_xor", "__xor__"),
    **_both(shift(True), "__lshift__"),
    **_both(shift(False), "__rshift__"),
    **aliases(shift(True), "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar"),
    **aliases(shift(False), "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar"),
}  # fmt: skip

_OTHER: dict[str, Rule] = {
    **aliases(clamp, "clamp.default", "clamp.Tensor", "clip.default", "clip.Tensor"),
    **aliases(clamp_min, "clamp_min.default", "clamp_min.Tensor"),
    **aliases(clamp_max, "clamp_max.default", "clamp_max.Tensor"),
    **aliases(where, "where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"),
    **aliases(masked_fill, "masked_fill.Scalar", "masked_fill.Tensor"),
    **aliases(addcmul, "addcmul.default"),
    **aliases(addcdiv, "addcdiv.default"),
    **aliases(lerp, "lerp.Scalar", "lerp.Tensor"),
    **aliases(hypot, "hypot.default"),
    **aliases(logaddexp, "logaddexp.default"),
    **aliases(xlogy, "xlogy.Tensor", "xlogy.Scalar_Other", "special_xlogy.default"),
    **aliases(cosine_similarity, "cosine_similarity.default"),
    **aliases(cast_to_result, "to.dtype", "to.dtype_layout", "to.device", "to.other",
              "_to_copy.default", "type_as.default"),
    **aliases(identity, "clone.default", "alias.default", "detach.default", "contiguous.default",
              "lift_fresh_copy.default", "lift_fresh.default", "lift.default",
              "positive.default", "resolve_conj.default", "resolve_neg.default",
              "_conj.default", "real.default", "requires_grad_.default", "to_dense.default",
              "pin_memory.default", "conj.default"),
}  # fmt: skip

RULES: Mapping[str, Rule] = {**_BASIC, **_BINARY, **_OTHER}
