"""Expressions as C++: on vectors of float32 where everything is float32, else on single numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swath.graph.types import DType
from swath.targets.cpu.text import C_TYPES, literal
from swath.tile.expressions import Apply, Expression, Load, LoadAt, Result, Scalar, walk
from swath.tile.views import View

VECTOR_CALLS = {
    "abs": "abs({0})", "ceil": "ceil({0})", "cos": "cos({0})", "erf": "erf({0})",
    "exp": "exp({0})", "expm1": "expm1({0})", "floor": "floor({0})", "gelu": "gelu({0})",
    "gelu_tanh": "gelu_tanh({0})", "isnan": "is_nan({0})", "log": "log({0})",
    "log1p": "log1p({0})", "log2": "log2({0})", "neg": "(-{0})", "reciprocal": "reciprocal({0})",
    "relu": "relu({0})", "round": "round({0})", "rsqrt": "rsqrt({0})", "sigmoid": "sigmoid({0})",
    "sign": "sign({0})", "silu": "silu({0})", "sin": "sin({0})", "softplus": "softplus({0})",
    "sqrt": "sqrt({0})", "square": "square({0})", "tanh": "tanh({0})", "trunc": "trunc({0})",
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})",
    "pow": "pow({0}, {1})", "minimum": "min({0}, {1})", "maximum": "max({0}, {1})",
    "eq": "eq({0}, {1})", "ne": "ne({0}, {1})", "lt": "lt({0}, {1})", "le": "le({0}, {1})",
    "gt": "gt({0}, {1})", "ge": "ge({0}, {1})", "where": "select({0}, {1}, {2})",
}  # fmt: skip
MASK_CALLS = {
    "logical_and": "({0} & {1})", "logical_or": "({0} | {1})", "logical_not": "(~{0})",
    "logical_xor": "differ({0}, {1})", "bitwise_and": "({0} & {1})", "bitwise_or": "({0} | {1})",
    "bitwise_not": "(~{0})", "bitwise_xor": "differ({0}, {1})", "ne": "differ({0}, {1})",
    "eq": "(~differ({0}, {1}))",
}  # fmt: skip
SCALAR_CALLS = {
    "isnan": "scalar::is_nan({0})", "neg": "(-{0})", "logical_not": "(!{0})",
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})",
    "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "le": "({0} <= {1})",
    "gt": "({0} > {1})", "ge": "({0} >= {1})", "where": "({0} ? {1} : {2})",
    "logical_and": "(({0} != 0) & ({1} != 0))", "logical_or": "(({0} != 0) | ({1} != 0))",
    "logical_xor": "(({0} != 0) != ({1} != 0))", "bitwise_and": "({0} & {1})",
    "bitwise_or": "({0} | {1})", "bitwise_xor": "({0} ^ {1})",
    "minimum": "scalar::min({0}, {1})", "maximum": "scalar::max({0}, {1})",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VectorText:
    """Writes vector expressions: `load(view)` is the text that loads lanes, `result` the text of
    the finished element."""

    load: Callable[[View], str]
    result: str = ""

    def write(self, expression: Expression) -> str:
        """The expression as code of type f32v (mask, if boolean)."""
        if isinstance(expression, Load):
            return self.load(expression.view)
        if isinstance(expression, Result):
            return self.result
        if isinstance(expression, Scalar):
            if expression.dtype is DType.BOOL:
                return f"all_lanes({literal(expression.value, DType.BOOL)})"
            return f"broadcast({literal(expression.value, DType.FLOAT32)})"
        assert isinstance(expression, Apply)
        arguments = [self.write(argument) for argument in expression.arguments]
        masks = expression.arguments[0].dtype is DType.BOOL
        if expression.function == "cast":
            if masks == (expression.dtype is DType.BOOL):
                return arguments[0]
            return f"to_float({arguments[0]})" if masks else f"ne({arguments[0]}, zero())"
        if masks and expression.function != "where":
            return MASK_CALLS[expression.function].format(*arguments)
        return VECTOR_CALLS[expression.function].format(*arguments)


@dataclass(frozen=True, slots=True)
class ScalarText:
    """Writes scalar expressions: `element(view, extra)` is an element with an extra offset."""

    element: Callable[[View, str], str]
    row: str
    result: str = ""

    def write(self, expression: Expression) -> str:
        """The expression as code of the C++ type of its element type."""
        if isinstance(expression, Load):
            return self.element(expression.view, "")
        if isinstance(expression, LoadAt):
            return self.element(expression.view, " + ".join(self._terms(expression)))
        if isinstance(expression, Result):
            return self.result
        if isinstance(expression, Scalar):
            return literal(expression.value, expression.dtype)
        arguments = [self.write(argument) for argument in expression.arguments]
        if expression.function == "cast":
            return f"scalar::convert<{C_TYPES[expression.dtype]}>({arguments[0]})"
        if expression.function == "bitwise_not":
            boolean = expression.dtype is DType.BOOL
            return f"({'!' if boolean else '~'}{arguments[0]})"
        call = SCALAR_CALLS.get(expression.function)
        if call is None:
            call = f"scalar::{expression.function}({', '.join(arguments)})"
            return self._typed(call, expression)
        return self._typed(call.format(*arguments), expression)

    def _terms(self, load: LoadAt) -> list[str]:
        return [
            f"checked_position(call, {self.write(position)}, {size}, first_row + {self.row})"
            f" * {stride}"
            for position, size, stride in zip(load.positions, load.sizes, load.strides, strict=True)
        ]

    @staticmethod
    def _typed(code: str, expression: Apply) -> str:
        # C++ computes narrow integers as int
        if expression.dtype in (DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.BOOL):
            return code
        return f"static_cast<{C_TYPES[expression.dtype]}>({code})"


def needs_call(expression: Expression) -> bool:
    """True if evaluating the expression can record a fault."""
    return any(isinstance(part, LoadAt) for part in walk(expression))
