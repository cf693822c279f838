"""Ops that make tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swath.frontends.context import Context
from swath.frontends.promotion import Scalar
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import mixes_rows, unsupported_form
from swath.graph.ir import Value
from swath.graph.types import BatchSize, DType

# A float holds integers exactly up to here; `Fill` states its value as a float.
_EXACT_INTEGERS = 1 << 53


def filled(context: Context, value: Scalar) -> Value:
    """The result as a tensor of one value."""
    result = context.result
    if isinstance(value, int) and abs(value) > _EXACT_INTEGERS:
        return context.expand(context.scalar(value, result.dtype), result.shape)
    return context.fill(result.shape, value, result.dtype)


def constant_fill(value: Scalar) -> Rule:
    """zeros, ones, empty and their relatives."""

    def rule(context: Context, *_: Any, **__: Any) -> Value:
        return filled(context, value)

    return rule


def full(context: Context, size_or_like: Any, fill_value: Any, **_: Any) -> Value:
    """full(size, value), full_like(x, value)."""
    del size_or_like
    return _fill_with(context, context.operand(fill_value))


def new_full(context: Context, x: Value, size: Any, fill_value: Any, **_: Any) -> Value:
    """x.new_full(size, value)."""
    del x, size
    return _fill_with(context, context.operand(fill_value))


def _fill_with(context: Context, value: Any) -> Value:
    if isinstance(value, Value):
        typed = context.cast(value, context.result.dtype)
        return context.expand(context.reshape(typed, ()), context.result.shape)
    return filled(context, value)


def scalar_tensor(context: Context, value: Any, **_: Any) -> Value:
    """A number as a 0-d tensor."""
    return _fill_with(context, context.operand(value))


def fill(context: Context, x: Value, value: Any) -> Value:
    """x with all elements replaced."""
    del x
    return _fill_with(context, context.operand(value))


def zero(context: Context, x: Value) -> Value:
    """x with all elements replaced by 0."""
    return fill(context, x, 0)


def arange(context: Context, *arguments: Any, **keywords: Any) -> Value:
    """start, start + step, ...: of whole numbers as `Iota`, else as a constant."""
    numbers = [value for value in arguments if value is not None]
    start = keywords.get("start", numbers[0] if len(numbers) > 1 else 0)
    step = keywords.get("step", numbers[2] if len(numbers) > 2 else 1)
    length, dtype = context.result.shape[0], context.result.dtype
    if isinstance(start, int) and isinstance(step, int):
        # An Iota of floats counts whole numbers, exactly as far as floats hold them.
        return context.iota(length, start, step, dtype)
    if isinstance(start, BatchSize) or isinstance(step, BatchSize):
        raise mixes_rows(context.op, "begins or steps by a number that depends on the batch")
    if not isinstance(length, int):
        raise mixes_rows(context.op, "counts rows in fractions")
    array = float(start) + np.arange(length, dtype=np.float64) * float(step)
    return context.constant("arange", array.astype(dtype.numpy))


def linspace(context: Context, start: float, end: float, steps: int, **_: Any) -> Value:
    """Evenly spaced numbers."""
    array = np.linspace(start, end, steps)
    return context.constant("linspace", array.astype(context.result.dtype.numpy))


def eye(context: Context, n: Any, m: Any = None, **_: Any) -> Value:
    """The unit matrix."""
    if not isinstance(n, int) or not isinstance(m, int | None):
        raise mixes_rows(context.op, "makes a matrix over the batch")
    return context.constant("eye", np.eye(n, m, dtype=context.result.dtype.numpy))


def triangle(upper: bool) -> Rule:
    """tril, triu: the elements on one side of a diagonal, the rest zero."""

    def rule(context: Context, x: Value, diagonal: int = 0) -> Value:
        height, width = x.type.shape[-2:]
        if not isinstance(height, int) or not isinstance(width, int):
            raise mixes_rows(context.op, "runs over the batch axis")
        keep = np.ones((height, width), dtype=np.bool_)
        keep = np.triu(keep, diagonal) if upper else np.tril(keep, diagonal)
        mask = context.constant("triangle", keep)
        return context.where(mask, x, context.scalar(0, x.type.dtype))

    return rule


def one_hot(context: Context, x: Value, num_classes: int = -1) -> Value:
    """1 at the position of the id, 0 elsewhere."""
    if num_classes < 0:
        raise unsupported_form(context.op, "the number of classes left to the data")
    classes = context.iota(num_classes, 0, 1, x.type.dtype)
    hits = context.binary("eq", context.unsqueeze(x, x.type.rank), classes)
    return context.cast(hits, DType.INT64)


RULES: Mapping[str, Rule] = {
    **aliases(constant_fill(0), "zeros.default", "zeros_like.default", "new_zeros.default",
              "empty.memory_format", "empty_like.default", "new_empty.default",
              "empty_permuted.default", "empty_strided.default", "new_empty_strided.default"),
    **aliases(constant_fill(1), "ones.default", "ones_like.default", "new_ones.default"),
    **aliases(full, "full.default", "full_like.default"),
    **aliases(new_full, "new_full.default"),
    **aliases(scalar_tensor, "scalar_tensor.default"),
    **aliases(fill, "fill.Scalar", "fill.Tensor"),
    **aliases(zero, "zero.default"),
    **aliases(arange, "arange.default", "arange.start", "arange.start_step"),
    **aliases(linspace, "linspace.default"),
    **aliases(eye, "eye.default", "eye.m"),
    **aliases(triangle(False), "tril.default"),
    **aliases(triangle(True), "triu.default"),
    **aliases(one_hot, "one_hot.default"),
}  # fmt: skip
