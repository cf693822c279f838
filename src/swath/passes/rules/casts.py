"""Casts that do nothing, or nothing that another cast doesn't do."""

from __future__ import annotations

from swath.graph.ops import Cast, Fill
from swath.graph.ops.base import Op
from swath.graph.types import DType
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule

_SMALL = (DType.INT8, DType.UINT8)
_FLOATS = (DType.FLOAT32, DType.FLOAT64)

# The types that hold every element of a type exactly.
_HOLDERS: dict[DType, frozenset[DType]] = {
    DType.BOOL: frozenset(DType),
    DType.INT8: frozenset({DType.INT16, DType.INT32, DType.INT64, *_FLOATS}),
    DType.UINT8: frozenset({DType.INT16, DType.INT32, DType.INT64, *_FLOATS}),
    DType.INT16: frozenset({DType.INT32, DType.INT64, *_FLOATS}),
    DType.INT32: frozenset({DType.INT64, DType.FLOAT64}),
    DType.INT64: frozenset(),
    DType.FLOAT32: frozenset({DType.FLOAT64}),
    DType.FLOAT64: frozenset(),
}


def holds(outer: DType, inner: DType) -> bool:
    """True if `outer` holds every element of type `inner` exactly."""
    return outer is inner or outer in _HOLDERS[inner]


def cast_to_same_type(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A cast to the type that is there already is nothing.

    Before:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = cast(%x, dtype=f32)
        return %y
    After:
        input %x: f32[1,4] @candidate
        return %x
    """
    if not isinstance(op, Cast) or inputs[0].type.dtype is not op.dtype:
        return None
    return inputs[0]


def cast_of_exact_cast(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """The first of two casts goes if its type holds every element exactly.

    Before:
        input %x: i32[1,4] @candidate
        %wide: i64[1,4] @candidate = cast(%x, dtype=i64)
        %y: f32[1,4] @candidate = cast(%wide, dtype=f32)
        return %y
    After:
        input %x: i32[1,4] @candidate
        %y: f32[1,4] @candidate = cast(%x, dtype=f32)
        return %y
    """
    if not isinstance(op, Cast):
        return None
    inner = rewriter.made_by(inputs[0], Cast)
    if inner is None or not holds(inner[0].dtype, inner[1][0].type.dtype):
        return None
    return op, inner[1]


def cast_of_fill(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A fill is made in the type that it is cast to, if that holds the value.

    Before:
        input %x: f32[1,4] @candidate
        %zeros: i64[1,4] @once = fill(shape=[1, 4], value=0, dtype=i64)
        %floats: f32[1,4] @once = cast(%zeros, dtype=f32)
        %y: f32[1,4] @candidate = binary(%x, %floats, function="maximum")
        return %y
    After:
        input %x: f32[1,4] @candidate
        %floats: f32[1,4] @once = fill(shape=[1, 4], value=0, dtype=f32)
        %y: f32[1,4] @candidate = binary(%x, %floats, function="maximum")
        return %y
    """
    if not isinstance(op, Cast):
        return None
    fill = rewriter.made_by(inputs[0], Fill)
    # Every type holds 0 and 1.
    if fill is None or fill[0].value not in (0, 1):
        return None
    return Fill(fill[0].shape, fill[0].value, op.dtype), ()


CAST_RULES: tuple[Rule, ...] = (cast_to_same_type, cast_of_exact_cast, cast_of_fill)
