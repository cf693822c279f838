"""Buffers and strided views of them.

A buffer holds one run of elements per row of the swath (`row_elements` apart); a view picks
elements of each row: offset + sum(index[i] * strides[i]). Reshape, permute, slice and expand of a
view are views wherever strides can say it, so that they cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from swath.graph.types import DType


class BufferKind(Enum):
    """Where a buffer lives."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"
    WEIGHT = "weight"
    TABLE = "table"


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """`name` is unique in a program; `index` numbers inputs, outputs and tables; `elements` are
    those of one row; `row_elements` is the distance between rows: 0 for what has no rows, -1 for
    an input, whose distance is known only at the call."""

    name: str
    kind: BufferKind
    dtype: DType
    elements: int
    row_elements: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """Elements of each row of a buffer, as a strided array."""

    buffer: Buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements of one row."""
        return prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """True if the elements of a row lie one behind the other in row-major order."""
        return all(
            size == 1 or stride == expected
            for size, stride, expected in zip(
                self.shape, self.strides, row_major(self.shape), strict=True
            )
        )

    def permute(self, axes: tuple[int, ...]) -> View:
        """Axis i of the result is axis `axes[i]`."""
        return replace(
            self,
            shape=tuple(self.shape[a] for a in axes),
            strides=tuple(self.strides[a] for a in axes),
        )

    def slice(self, axis: int, start: int, stop: int, step: int = 1) -> View:
        """Every `step`-th element of [start, stop) along an axis."""
        size = max(0, -(-(stop - start) // step))
        shape = (*self.shape[:axis], size, *self.shape[axis + 1 :])
        stride = self.strides[axis]
        strides = (*self.strides[:axis], stride * step, *self.strides[axis + 1 :])
        return View(self.buffer, self.offset + start * stride, shape, strides)

    def expand(self, shape: tuple[int, ...]) -> View:
        """NumPy broadcast_to."""
        lead = len(shape) - len(self.shape)
        strides = [0] * lead
        for size, stride, wide in zip(self.shape, self.strides, shape[lead:], strict=True):
            strides.append(stride if size == wide else 0)
        return replace(self, shape=shape, strides=tuple(strides))

    def reshape(self, shape: tuple[int, ...]) -> View | None:
        """The same elements in row-major order under another shape; None if it takes a copy."""
        if shape == self.shape:
            return self
        if self.elements == 0:
            return replace(self, shape=shape, strides=row_major(shape))
        strides = _reshaped_strides(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous array."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def whole(buffer: Buffer, shape: tuple[int, ...]) -> View:
    """The whole row of a buffer as a contiguous array."""
    return View(buffer, 0, shape, row_major(shape))


def _reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Match groups of old and new axes with equal products; a group of several old axes must be
    contiguous in itself."""
    old = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    result: list[int] = []
    position = 0
    pending_size, pending_stride = 1, 1  # what is left of the old axes taken so far
    for index, size in enumerate(target):
        if size == 1:
            result.append(1)
            continue
        while pending_size < size or pending_size % size:
            if position == len(old):
                return None
            old_size, old_stride = old[position]
            if pending_size > 1 and pending_stride != old_size * old_stride:
                return None
            pending_size, pending_stride = pending_size * old_size, old_stride
            position += 1
        pending_size //= size
        result.append(pending_stride * pending_size)
        if pending_size == 1 and all(s == 1 for s in target[index + 1 :]):
            result += [1] * (len(target) - index - 1)
            break
    return tuple(result)
