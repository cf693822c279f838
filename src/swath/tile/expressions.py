"""Element-wise expressions over views.

    Expression = Load(view) | LoadAt(view, axes, positions) | Scalar(value, dtype)
               | Result(dtype) | Apply(function, args, dtype)

All loads of an expression have one shape; broadcasting is a stride of 0. `Result` stands for the
element that the kernel around the expression has just computed (a sum, a product of matrices).
`Apply` of "cast" converts to `dtype`; "where" takes condition, a, b; the other functions are those
of the ops `Unary` and `Binary`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from swath.graph.types import DType
from swath.tile.views import View


@dataclass(frozen=True, slots=True)
class Load:
    """The element of a view at the loop indices."""

    view: View

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.view.buffer.dtype


@dataclass(frozen=True, slots=True)
class LoadAt:
    """The element of `source` at the loop indices, but with the index along each of `axes`
    replaced by an integer expression (negative counts from the end; out of range is a fault).

    `view` is `source` with stride 0 along the axes that are not loop axes any more; it has the
    shape of the loops. `strides` and `sizes` belong to the replaced axes.
    """

    view: View
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    positions: tuple[Expression, ...]

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.view.buffer.dtype


@dataclass(frozen=True, slots=True)
class Scalar:
    """The same number at every index."""

    value: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Result:
    """The element computed by the kernel that this expression finishes."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of expressions."""

    function: str
    arguments: tuple[Expression, ...]
    dtype: DType


Expression = Load | LoadAt | Scalar | Result | Apply

EXPENSIVE = frozenset({
    "exp", "log", "log1p", "expm1", "log2", "sigmoid", "tanh", "erf", "gelu", "gelu_tanh", "silu",
    "softplus", "pow", "sin", "cos", "atan2", "div", "sqrt", "rsqrt", "reciprocal", "remainder",
    "floor_divide",
})  # fmt: skip


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all that it is made of, inputs first."""
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from walk(argument)
    elif isinstance(expression, LoadAt):
        for position in expression.positions:
            yield from walk(position)
    yield expression


def views_of(expression: Expression) -> list[View]:
    """The views that an expression loads, in order, each once."""
    loads = (e.view for e in walk(expression) if isinstance(e, Load | LoadAt))
    return list(dict.fromkeys(loads))


def map_views(expression: Expression, change: Callable[[View], View]) -> Expression:
    """The expression with every view changed."""
    if isinstance(expression, Load):
        return Load(change(expression.view))
    if isinstance(expression, LoadAt):
        positions = tuple(map_views(position, change) for position in expression.positions)
        return replace(expression, view=change(expression.view), positions=positions)
    if isinstance(expression, Apply):
        arguments = tuple(map_views(argument, change) for argument in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression


def reshape(expression: Expression, shape: tuple[int, ...]) -> Expression | None:
    """The expression over another shape; None if one of its views would need a copy."""
    for view in views_of(expression):
        if view.reshape(shape) is None:
            return None

    def change(view: View) -> View:
        reshaped = view.reshape(shape)
        assert reshaped is not None
        return reshaped

    return map_views(expression, change)


def has_result(expression: Expression) -> bool:
    """True if the expression finishes a kernel's result."""
    return any(isinstance(e, Result) for e in walk(expression))


def is_expensive(expression: Expression) -> bool:
    """True if computing it twice costs more than storing and loading it."""
    applied = [e for e in walk(expression) if isinstance(e, Apply)]
    return len(applied) > 3 or any(e.function in EXPENSIVE for e in applied)


LANE_FUNCTIONS = frozenset({
    "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "gelu", "gelu_tanh", "isnan", "log",
    "log1p", "log2", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "silu",
    "sin", "softplus", "sqrt", "square", "tanh", "trunc", "add", "sub", "mul", "div", "pow",
    "minimum", "maximum", "eq", "ne", "lt", "le", "gt", "ge", "where", "cast",
})  # fmt: skip
MASK_FUNCTIONS = frozenset({
    "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or",
    "bitwise_not", "bitwise_xor", "ne", "eq", "cast", "where",
})  # fmt: skip


def runs_on_lanes(expression: Expression) -> bool:
    """True if the expression can be computed on registers of float32 with booleans as masks."""
    return expression.dtype is DType.FLOAT32 and all(map(_part_runs_on_lanes, walk(expression)))


def _part_runs_on_lanes(part: Expression) -> bool:
    if isinstance(part, LoadAt) or part.dtype not in (DType.FLOAT32, DType.BOOL):
        return False
    if isinstance(part, Load):
        return part.dtype is DType.FLOAT32
    if not isinstance(part, Apply):
        return True
    masks = part.arguments[0].dtype is DType.BOOL
    if part.function == "where":
        return part.dtype is DType.FLOAT32
    return part.function in (MASK_FUNCTIONS if masks else LANE_FUNCTIONS)


def replace_result(expression: Expression, replacement: Expression) -> Expression:
    """The expression with `replacement` in place of the kernel's result."""
    if isinstance(expression, Result):
        return replacement
    if isinstance(expression, Apply):
        arguments = tuple(replace_result(a, replacement) for a in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression
