"""Element-wise ops: one result element from the matching (broadcast) input elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import erf, pi, sqrt
from typing import Any, ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Cost,
    Op,
    RowNumberError,
    Rows,
    Types,
    as_array,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import aligned_row
from swath.graph.types import DType, TensorType

UNARY_FUNCTIONS = (
    "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "gelu", "gelu_tanh", "isnan", "log",
    "log1p", "log2", "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
    "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh", "trunc", "bitwise_not",
)  # fmt: skip
ARITHMETIC_FUNCTIONS = (
    "add", "sub", "mul", "div", "pow", "minimum", "maximum", "floor_divide", "remainder",
    "atan2", "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
COMPARISON_FUNCTIONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGICAL_FUNCTIONS = ("logical_and", "logical_or", "logical_xor")
BINARY_FUNCTIONS = ARITHMETIC_FUNCTIONS + COMPARISON_FUNCTIONS + LOGICAL_FUNCTIONS

# What each function takes besides floats (bool goes with "bitwise" and everything of "any").
_UNARY_ANY = ("isnan", "logical_not")
_UNARY_INTEGER = ("abs", "ceil", "floor", "neg", "relu", "round", "sign", "square", "trunc")
_BINARY_FLOAT = ("div", "atan2")
_BINARY_NUMBER = ("sub", "pow", "floor_divide", "remainder")
_TRANSCENDENTAL = (
    "atan2", "cos", "erf", "exp", "expm1", "gelu", "gelu_tanh", "log", "log1p", "log2", "pow",
    "sigmoid", "silu", "sin", "softplus", "tanh",
)  # fmt: skip
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")


@dataclass(frozen=True)
class Unary(Op):
    """`function(x)`, same shape. `isnan` and `logical_not` give bool; the rest keep the type
    (which the frontend has made float where PyTorch would)."""

    name: ClassVar[str] = "unary"
    function: str

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        if self.function not in UNARY_FUNCTIONS:
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if self.function in _UNARY_ANY:
            return (TensorType(DType.BOOL, x.shape),)
        if self.function in _BITWISE:
            fits = not x.dtype.is_float
        else:
            fits = x.dtype.is_float or (x.dtype.is_integer and self.function in _UNARY_INTEGER)
        if not fits:
            raise self.refuse(inputs, f"{self.function} has no meaning for {x.dtype.value}")
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return rows

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return results(_UNARY[self.function](inputs[0]))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(outputs[0]) * _operations(self.function))


@dataclass(frozen=True)
class Binary(Op):
    """`function(a, b)` with NumPy broadcasting; both inputs have one element type (the frontend
    inserts casts). Comparisons and logical functions give bool. `minimum` and `maximum` propagate
    NaN, `remainder` has the sign of the divisor (as torch.remainder)."""

    name: ClassVar[str] = "binary"
    takes_row_numbers: ClassVar[bool] = True
    function: str

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2)
        a, b = inputs
        if self.function not in BINARY_FUNCTIONS:
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if a.dtype is not b.dtype:
            raise self.refuse(inputs, "the inputs must have one element type")
        shape = self.broadcast(inputs, a.shape, b.shape)
        if self.function not in ARITHMETIC_FUNCTIONS:
            return (TensorType(DType.BOOL, shape),)
        if self.function in _BITWISE:
            fits = not a.dtype.is_float
        elif self.function in _BINARY_FLOAT:
            fits = a.dtype.is_float
        else:
            fits = a.dtype is not DType.BOOL or self.function not in _BINARY_NUMBER
        if not fits:
            raise self.refuse(inputs, f"{self.function} has no meaning for {a.dtype.value}")
        return (TensorType(a.dtype, shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = aligned_row(types, rows)
        numbers = tuple(row.number if row else 0 for row in rows)
        if row is None or not any(numbers):
            return (row,)
        if self.function not in ("add", "sub"):
            raise RowNumberError(f"computes `{self.function}` with the position of a row")
        # The multiple of a row number is found by debatching, which knows the constants.
        number = numbers[0] + (numbers[1] if self.function == "add" else -numbers[1])
        offset = any(row is None or not row.number or row.offset for row in rows)
        return (replace(row, number=number, offset=offset),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return results(_BINARY[self.function](inputs[0], inputs[1]))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(outputs[0]) * _operations(self.function))


@dataclass(frozen=True)
class Where(Op):
    """`condition ? a : b` with broadcasting; condition is bool, a and b have one type."""

    name: ClassVar[str] = "where"

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 3)
        condition, a, b = inputs
        if condition.dtype is not DType.BOOL:
            raise self.refuse(inputs, "the condition must be bool")
        if a.dtype is not b.dtype:
            raise self.refuse(inputs, "both branches must have one element type")
        shape = self.broadcast(inputs, condition.shape, a.shape, b.shape)
        return (TensorType(a.dtype, shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (aligned_row(types, rows),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.where(*inputs))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(outputs[0]))


@dataclass(frozen=True)
class Cast(Op):
    """The same elements in another type; float to integer truncates."""

    name: ClassVar[str] = "cast"
    takes_row_numbers: ClassVar[bool] = True
    dtype: DType

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        return (TensorType(self.dtype, inputs[0].shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (row,) = rows
        wraps = self.dtype.size < 4 and not self.dtype.is_float
        if row is not None and row.number and wraps:
            raise RowNumberError(f"makes the position of a row {self.dtype.value}")
        return rows

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return results(inputs[0].astype(self.dtype.numpy))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(outputs[0]))


def _operations(function: str) -> int:
    """Roughly the floating point operations of one element."""
    return 20 if function in _TRANSCENDENTAL else 1


def _erf(x: Array) -> Array:
    return np.asarray(np.frompyfunc(erf, 1, 1)(x), dtype=x.dtype)


def _gelu(x: Array) -> Array:
    return x * (1 + _erf(x * as_array(1 / sqrt(2), x))) * as_array(0.5, x)


def _gelu_tanh(x: Array) -> Array:
    inner = as_array(sqrt(2 / pi), x) * (x + as_array(0.044715, x) * x * x * x)
    return as_array(0.5, x) * x * (1 + np.tanh(inner))


def _sigmoid(x: Array) -> Array:
    # exp of a negative number only, which cannot overflow.
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, as_array(1, x)) / (1 + small)


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sign(x: Array) -> Array:
    # 0 for NaN, as PyTorch; numpy.sign gives NaN.
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


_UNARY: Mapping[str, Callable[[Array], Any]] = {
    "abs": np.abs,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": _erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "isnan": np.isnan,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "logical_not": np.logical_not,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sign": _sign,
    "silu": lambda x: x * _sigmoid(x),
    "sin": np.sin,
    "softplus": _softplus,
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
    "trunc": np.trunc,
}

_BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "atan2": np.arctan2,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
