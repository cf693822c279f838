"""Ops that only rearrange elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Op,
    RowAxis,
    RowNumberError,
    RowRuleError,
    Rows,
    Types,
    factors,
    format_shape,
    results,
)
from swath.graph.ops.row_rules import aligned_row, axis_name, kept_row, lone_row, moved_row
from swath.graph.types import BatchSize, Dim, RaggedSize, Shape, TensorType


@dataclass(frozen=True)
class Reshape(Op):
    """The elements in row-major order under another shape (all sizes given, no -1)."""

    name: ClassVar[str] = "reshape"
    takes_row_numbers: ClassVar[bool] = True
    shape: tuple[Dim, ...]

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        if factors(inputs[0].shape) != factors(self.shape):
            raise self.refuse(inputs, f"{format_shape(self.shape)} has another number of elements")
        return (TensorType(inputs[0].dtype, self.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (row,) = rows
        return (None if row is None else _regrouped(types[0].shape, row, self.shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.reshape(inputs[0], _sizes(self.shape, inputs[0].size)))


@dataclass(frozen=True)
class Permute(Op):
    """Axis i of the result is axis `axes[i]` of the input."""

    name: ClassVar[str] = "permute"
    takes_row_numbers: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        if sorted(self.axes) != list(range(x.rank)):
            raise self.refuse(inputs, f"{self.axes} is no permutation of {x.rank} axes")
        return (TensorType(x.dtype, tuple(x.shape[axis] for axis in self.axes)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (row,) = rows
        return (None if row is None else moved_row(row, self.axes.index(row.axis)),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.transpose(inputs[0], self.axes))


@dataclass(frozen=True)
class Slice(Op):
    """Elements start, start + step, ... before stop along one axis. 0 <= start <= stop <= size,
    step > 0 (the frontend normalises). stop may be a BatchSize for a full slice."""

    name: ClassVar[str] = "slice"
    takes_row_numbers: ClassVar[bool] = True
    axis: int
    start: int
    stop: Dim
    step: int = 1

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        size = x.shape[self.axis]
        if self.start < 0 or self.step < 1:
            raise self.refuse(inputs, "start must be at least 0 and step at least 1")
        if _is_beyond(self.stop, size):
            raise self.refuse(inputs, f"stop {self.stop} is beyond size {size}")
        if isinstance(self.stop, int) and self.stop < self.start:
            raise self.refuse(inputs, f"stop {self.stop} is before start {self.start}")
        shape = list(x.shape)
        shape[self.axis] = self._length(inputs)
        return (TensorType(x.dtype, tuple(shape)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (row,) = rows
        if row is None or row.axis != self.axis:
            return rows
        stop, from_start = self.stop, self.start == 0 and self.step == 1
        if from_start and stop == types[0].shape[self.axis]:
            return rows
        if from_start and isinstance(stop, BatchSize) and not stop.extra:
            # The first few of the `pre` copies of the batch.
            copies, rest = divmod(stop.multiple, row.post)
            if rest == 0:
                return (replace(row, pre=copies),)
        raise RowRuleError(f"takes a part of {axis_name(types[0], row)}")

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        stop = self.stop if isinstance(self.stop, int) else None
        before = (slice(None),) * self.axis
        return results(inputs[0][(*before, slice(self.start, stop, self.step))])

    def _length(self, inputs: Types) -> Dim:
        stop = self.stop
        if isinstance(stop, int):
            return -(-(stop - self.start) // self.step)
        if self.start == 0 and self.step == 1:
            return stop
        if isinstance(stop, BatchSize):
            multiple, extra = stop.multiple, stop.extra - self.start
            if multiple % self.step == 0:
                return BatchSize(multiple // self.step, -(-extra // self.step))
        raise self.refuse(inputs, "the length of the slice is not a multiple of the batch")


@dataclass(frozen=True)
class Take(Op):
    """The elements at constant positions `indices` along one axis (repeats allowed)."""

    name: ClassVar[str] = "take"
    takes_row_numbers: ClassVar[bool] = True
    axis: int
    indices: tuple[int, ...]

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        size = x.shape[self.axis]
        for index in self.indices:
            if index < 0 or (isinstance(size, int) and index >= size):
                raise self.refuse(inputs, f"index {index} is outside of axis {self.axis}")
        shape = list(x.shape)
        shape[self.axis] = len(self.indices)
        return (TensorType(x.dtype, tuple(shape)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (kept_row(types[0], rows[0], (self.axis,), "picks elements of"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        indices = np.asarray(self.indices, dtype=np.int64)
        return results(np.take(inputs[0], indices, axis=self.axis))


@dataclass(frozen=True)
class Expand(Op):
    """NumPy broadcast_to: new leading axes, size-1 axes repeated."""

    name: ClassVar[str] = "expand"
    takes_row_numbers: ClassVar[bool] = True
    shape: tuple[Dim, ...]

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        tail = self.shape[len(self.shape) - x.rank :] if x.rank <= len(self.shape) else ()
        fits = all(old in (1, new) for old, new in zip(x.shape, tail, strict=False))
        if len(tail) != x.rank or not fits:
            raise self.refuse(inputs, f"cannot broadcast to {format_shape(self.shape)}")
        return (TensorType(x.dtype, self.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (row,) = rows
        lone = lone_row(self.shape)
        if row is None:
            return (lone,)
        return (moved_row(row, row.axis + len(self.shape) - types[0].rank),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        shape = [dim if isinstance(dim, int) else -1 for dim in self.shape]
        for position in range(1, x.ndim + 1):
            # A ragged size is known only from the array.
            if shape[-position] < 0:
                shape[-position] = x.shape[-position]
        return results(np.broadcast_to(x, shape))


@dataclass(frozen=True)
class Concat(Op):
    """The inputs one behind the other along one axis; one element type."""

    name: ClassVar[str] = "concat"
    takes_row_numbers: ClassVar[bool] = True
    axis: int

    def infer(self, inputs: Types) -> Types:
        if not inputs:
            raise self.refuse(inputs, "needs at least one input")
        first = inputs[0]
        self.expect_axes(inputs, first.rank, self.axis)
        around = _without(first.shape, self.axis)
        for other in inputs[1:]:
            if other.dtype is not first.dtype:
                raise self.refuse(inputs, "the inputs must have one element type")
            if other.rank != first.rank or _without(other.shape, self.axis) != around:
                raise self.refuse(inputs, f"the inputs differ outside of axis {self.axis}")
        length = first.shape[self.axis]
        for other in inputs[1:]:
            length = self._sum(inputs, length, other.shape[self.axis])
        shape = (*first.shape[: self.axis], length, *first.shape[self.axis + 1 :])
        return (TensorType(first.dtype, shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        batched = [row for row in rows if row is not None]
        if not batched:
            return (None,)
        first = batched[0]
        if any(row.number != first.number for row in batched):
            raise RowNumberError("joins positions of rows with other numbers")
        if self.axis in (row.axis for row in batched):
            if len(batched) < len(rows) or any(row.post != first.post for row in batched):
                raise RowRuleError(f"joins other elements to {axis_name(types[0], first)}")
            pre = sum(row.pre for row in batched)
        else:
            aligned_row(types, rows)
            pre = first.pre
        return (replace(first, pre=pre, offset=any(row.offset for row in batched)),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.concatenate(inputs, axis=self.axis))

    def _sum(self, inputs: Types, a: Dim, b: Dim) -> Dim:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, RaggedSize) or isinstance(b, RaggedSize):
            raise self.refuse(inputs, "a ragged axis cannot be lengthened")
        a = a if isinstance(a, BatchSize) else BatchSize(0, a)
        b = b if isinstance(b, BatchSize) else BatchSize(0, b)
        return BatchSize(a.multiple + b.multiple, a.extra + b.extra)


def _is_beyond(stop: Dim, size: Dim) -> bool:
    if isinstance(size, BatchSize) and isinstance(stop, BatchSize):
        return stop.multiple > size.multiple or stop.extra > size.extra
    if isinstance(stop, int):
        # How many rows there are is known in the call only; a row rule refuses the slice.
        return isinstance(size, int) and stop > size
    return stop != size


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _regrouped(shape: Shape, row: RowAxis, new: Shape) -> RowAxis:
    """Where the batch sits after a reshape: [before * pre, batch, post * after] elements must be
    divided by the axes before and behind the new batch axis."""
    (axis,) = (axis for axis, dim in enumerate(new) if not isinstance(dim, int))
    before, after = _count(shape[: row.axis]) * row.pre, row.post * _count(shape[row.axis + 1 :])
    new_before, new_after = _count(new[:axis]), _count(new[axis + 1 :])
    if 0 in (before, after, new_before, new_after):
        dim = new[axis]
        return RowAxis(axis, post=dim.multiple if isinstance(dim, BatchSize) else 1)
    if before % new_before or after % new_after:
        raise RowRuleError(f"cuts rows: {format_shape(shape)} to {format_shape(new)}")
    return replace(row, axis=axis, pre=before // new_before, post=after // new_after)


def _count(dims: Shape) -> int:
    return prod(dim for dim in dims if isinstance(dim, int))


def _sizes(shape: Shape, elements: int) -> tuple[int, ...]:
    """A shape in ints, for an array of so many elements (a ragged size follows from them)."""
    known = 1
    for dim in shape:
        known *= dim if isinstance(dim, int) else 1
    return tuple(d if isinstance(d, int) else elements // max(known, 1) for d in shape)
