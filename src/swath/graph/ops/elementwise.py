"""Element-wise ops: one result element from the matching (broadcast) input elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op
from swath.graph.types import DType

UNARY_FUNCTIONS = (
    "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "gelu", "gelu_tanh", "isnan", "log",
    "log1p", "log2", "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
    "sign", "silu", "sin", "softplus", "sqrt", "square", "tanh", "trunc", "bitwise_not",
)
ARITHMETIC_FUNCTIONS = (
    "add", "sub", "mul", "div", "pow", "minimum", "maximum", "floor_divide", "remainder",
    "atan2", "bitwise_and", "bitwise_or", "bitwise_xor",
)
COMPARISON_FUNCTIONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGICAL_FUNCTIONS = ("logical_and", "logical_or", "logical_xor")
BINARY_FUNCTIONS = ARITHMETIC_FUNCTIONS + COMPARISON_FUNCTIONS + LOGICAL_FUNCTIONS


@dataclass(frozen=True)
class Unary(Op):
    """`function(x)`, same shape. `isnan` and `logical_not` give bool; the rest keep the type
    (which the frontend has made float where PyTorch would)."""

    name: ClassVar[str] = "unary"
    function: str


@dataclass(frozen=True)
class Binary(Op):
    """`function(a, b)` with NumPy broadcasting; both inputs have one element type (the frontend
    inserts casts). Comparisons and logical functions give bool. `minimum` and `maximum` propagate
    NaN, `remainder` has the sign of the divisor (as torch.remainder)."""

    name: ClassVar[str] = "binary"
    function: str


@dataclass(frozen=True)
class Where(Op):
    """`condition ? a : b` with broadcasting; condition is bool, a and b have one type."""

    name: ClassVar[str] = "where"


@dataclass(frozen=True)
class Cast(Op):
    """The same elements in another type; float to integer truncates."""

    name: ClassVar[str] = "cast"
    dtype: DType
