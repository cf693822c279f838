"""Arithmetic that changes nothing, or that a simpler function does, bit for bit.

NaN and infinity count: x * 0 is not 0, and x - x neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign

from swath.graph.ir import Value
from swath.graph.ops import Binary, Expand, Unary, Where
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, types

# function(x, neutral) is x
_NEUTRAL_RIGHT: Mapping[str, float] = {"mul": 1, "div": 1, "add": 0, "sub": 0, "pow": 1}
_COMMUTATIVE = ("add", "mul")
# A function of its own result that is the result.
_IDEMPOTENT = frozenset({"abs", "ceil", "floor", "relu", "round", "sign", "trunc"})
# A function of its own result that is what went in.
_INVOLUTION = frozenset({"bitwise_not", "neg"})


def neutral_operand(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """x * 1, x / 1, x + 0, x - 0 and x ** 1 are x.

    x + 0 is not -0 where x is; it goes if x is of integers, if the zero is -0, or if nothing shows
    the sign of a zero (see swath.passes.signed_zeros).

    Before:
        input %x: f32[1,4] @candidate
        constant %one: f32[] @once = 1.0
        constant %zero: f32[] @once = 0.0
        %a: f32[1,4] @candidate = binary(%x, %one, function="mul")
        %b: f32[1,4] @candidate = binary(%zero, %a, function="add")
        return %b
    After:
        input %x: f32[1,4] @candidate
        return %x
    """
    if not isinstance(op, Binary) or op.function not in _NEUTRAL_RIGHT:
        return None
    (result,) = op.infer(types(inputs))
    for x, other in _orders(op, inputs):
        number = rewriter.scalar(other)
        if number is None or number != _NEUTRAL_RIGHT[op.function]:
            continue
        if _keeps_zero(rewriter, op, x, number):
            if x.type.shape == result.shape:
                return x
            return Expand(result.shape), (x,)
    return None


def _orders(op: Binary, inputs: Inputs) -> tuple[Inputs, ...]:
    return (inputs, inputs[::-1]) if op.function in _COMMUTATIVE else (inputs,)


def _keeps_zero(rewriter: Rewriter, op: Binary, x: Value, number: float) -> bool:
    """True if the sign of a zero in x is kept, or doesn't matter."""
    if op.function not in ("add", "sub") or not x.type.dtype.is_float:
        return True
    sign = copysign(1, number) * (-1 if op.function == "sub" else 1)
    return sign < 0 or rewriter.like not in rewriter.shown_signed_zeros


def power_of_number(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """x ** 2, x ** 3, x ** 0.5 and x ** -1 have functions of their own, as in PyTorch.

    Before:
        input %x: f32[1,4] @candidate
        constant %two: f32[] @once = 2.0
        %y: f32[1,4] @candidate = binary(%x, %two, function="pow")
        return %y
    After:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = unary(%x, function="square")
        return %y
    """
    if not isinstance(op, Binary) or op.function != "pow" or inputs[1].type.rank:
        return None
    x, number = inputs[0], rewriter.scalar(inputs[1])
    if number == 2:
        return Unary("square"), (x,)
    if number == 3:
        return Binary("mul"), (rewriter.add(Unary("square"), x), x)
    if not x.type.dtype.is_float or number not in (0.5, -1):
        return None
    return Unary("sqrt" if number == 0.5 else "reciprocal"), (x,)


def square_of_self(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """x * x is square(x).

    Before:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = binary(%x, %x, function="mul")
        return %y
    After:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = unary(%x, function="square")
        return %y
    """
    if not isinstance(op, Binary) or op.function != "mul" or inputs[0] is not inputs[1]:
        return None
    dtype = inputs[0].type.dtype
    return (Unary("square"), inputs[:1]) if dtype.is_float or dtype.is_integer else None


def maximum_with_zero(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """max(x, 0) is relu(x); max(x, -0) is not.

    Before:
        input %x: f32[1,4] @candidate
        constant %zero: f32[] @once = 0.0
        %y: f32[1,4] @candidate = binary(%x, %zero, function="maximum")
        return %y
    After:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = unary(%x, function="relu")
        return %y
    """
    if not isinstance(op, Binary) or op.function != "maximum":
        return None
    for x, other in (inputs, inputs[::-1]):
        numeric = x.type.dtype.is_float or x.type.dtype.is_integer
        if numeric and not other.type.rank and repr(rewriter.scalar(other)) == "0.0":
            return Unary("relu"), (x,)
    return None


def function_twice(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """relu(relu(x)) is relu(x), -(-x) is x.

    Before:
        input %x: f32[1,4] @candidate
        %a: f32[1,4] @candidate = unary(%x, function="neg")
        %b: f32[1,4] @candidate = unary(%a, function="neg")
        %c: f32[1,4] @candidate = unary(%b, function="relu")
        %d: f32[1,4] @candidate = unary(%c, function="relu")
        return %d
    After:
        input %x: f32[1,4] @candidate
        %c: f32[1,4] @candidate = unary(%x, function="relu")
        return %c
    """
    if not isinstance(op, Unary):
        return None
    inner = rewriter.made_by(inputs[0], Unary)
    if inner is None or inner[0].function != op.function:
        return None
    if op.function in _IDEMPOTENT:
        return inputs[0]
    return inner[1][0] if op.function in _INVOLUTION else None


def sum_with_negative(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """x + -y is x - y, x - -y is x + y.

    Before:
        input %x: f32[1,4] @candidate
        input %y: f32[1,4] @candidate
        %n: f32[1,4] @candidate = unary(%y, function="neg")
        %z: f32[1,4] @candidate = binary(%x, %n, function="add")
        return %z
    After:
        input %x: f32[1,4] @candidate
        input %y: f32[1,4] @candidate
        %z: f32[1,4] @candidate = binary(%x, %y, function="sub")
        return %z
    """
    if not isinstance(op, Binary) or op.function not in ("add", "sub"):
        return None
    other = Binary("sub" if op.function == "add" else "add")
    for x, y in _orders(op, inputs):
        inner = rewriter.made_by(y, Unary)
        if inner is not None and inner[0].function == "neg":
            return other, (x, inner[1][0])
    return None


def where_of_constant(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A condition that is the same everywhere chooses a branch.

    Before:
        input %x: f32[1,4] @candidate
        input %z: f32[1,4] @candidate
        constant %no: bool[] @once = false
        %y: f32[1,4] @candidate = where(%no, %x, %z)
        return %y
    After:
        input %x: f32[1,4] @candidate
        input %z: f32[1,4] @candidate
        return %z
    """
    if not isinstance(op, Where):
        return None
    number = rewriter.scalar(inputs[0])
    if number is None:
        return None
    (result,) = op.infer(types(inputs))
    branch = inputs[1] if number else inputs[2]
    return branch if branch.type.shape == result.shape else (Expand(result.shape), (branch,))


ARITHMETIC_RULES: tuple[Rule, ...] = (
    neutral_operand,
    power_of_number,
    square_of_self,
    maximum_with_zero,
    function_twice,
    sum_with_negative,
    where_of_constant,
)
