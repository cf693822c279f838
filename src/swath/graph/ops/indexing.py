"""Reading and writing at positions that are values of the graph.

Row numbers (arange over the batch) pick the row itself: in row form they are 0 plus the place
within the row, so that x[arange(batch), i] becomes x_row[0, i].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Op,
    RowAxis,
    RowNumberError,
    RowRuleError,
    Rows,
    Types,
    results,
)
from swath.graph.ops.row_rules import aligned_row, axis_name, kept_row, moved_row
from swath.graph.types import Shape, TensorType


@dataclass(frozen=True)
class Index(Op):
    """PyTorch advanced indexing x[..., i, ..., j, ...]: inputs x, then one integer tensor for each
    of `axes` (ascending; negative indices count from the end). The index tensors broadcast; the
    result axes stand in place of the first axis if `axes` are adjacent, else in front."""

    name: ClassVar[str] = "index"
    takes_row_numbers: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1 + len(self.axes))
        _expect_indices(self, inputs, inputs[0], self.axes, inputs[1:])
        shape = _indexed_shape(self, inputs, inputs[0], self.axes, inputs[1:])
        return (TensorType(inputs[0].dtype, shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (_indexed_row(self.axes, types[0], rows[0], types[1:], rows[1:]),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(inputs[0][_key(self.axes, inputs[1:])])


@dataclass(frozen=True)
class IndexPut(Op):
    """A copy of x with x[..., i, ..., j, ...] set (or increased, if `accumulate`): inputs x,
    values (broadcast), then one integer tensor for each of `axes`."""

    name: ClassVar[str] = "index_put"
    takes_row_numbers: ClassVar[bool] = True
    axes: tuple[int, ...]
    accumulate: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2 + len(self.axes))
        x, values = inputs[:2]
        _expect_indices(self, inputs, x, self.axes, inputs[2:])
        if values.dtype is not x.dtype:
            raise self.refuse(inputs, "x and the values must have one element type")
        shape = _indexed_shape(self, inputs, x, self.axes, inputs[2:])
        if self.broadcast(inputs, shape, values.shape) != shape:
            raise self.refuse(inputs, "the values don't broadcast to the places they go to")
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        x, values, *indices = rows
        if x is None:
            if any(rows):
                raise RowRuleError("lets rows write into one tensor")
            return (None,)
        if values is not None and values.number:
            raise RowNumberError("writes the positions of rows")
        places = _indexed_row(self.axes, types[0], x, types[2:], tuple(indices))
        shape = _indexed_shape(self, types, types[0], self.axes, types[2:])
        aligned_row((TensorType(types[0].dtype, shape), types[1]), (places, values))
        return (x,)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, values = inputs[0].copy(), inputs[1]
        key = _key(self.axes, inputs[2:])
        if self.accumulate:
            np.add.at(x, key, values)
        else:
            x[key] = values
        return results(x)


@dataclass(frozen=True)
class Gather(Op):
    """torch.gather: result[.., i, ..] = x[.., index[.., i, ..], ..] along `axis`."""

    name: ClassVar[str] = "gather"
    axis: int

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2)
        x, index = inputs
        _expect_along(self, inputs, x, index, self.axis)
        return (TensorType(x.dtype, index.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        kept_row(types[0], rows[0], (self.axis,), "picks elements of")
        return (aligned_row(types, rows),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, index = inputs
        return results(x[_places(index, self.axis, x.shape[self.axis])])


@dataclass(frozen=True)
class Scatter(Op):
    """torch.scatter ("set") or scatter_add ("add") along `axis`: inputs x, index, source."""

    name: ClassVar[str] = "scatter"
    axis: int
    function: str

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 3)
        x, index, source = inputs
        _expect_along(self, inputs, x, index, self.axis)
        if self.function not in ("set", "add"):
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if source.dtype is not x.dtype:
            raise self.refuse(inputs, "x and the source must have one element type")
        if source.rank != index.rank or not all(map(_holds, source.shape, index.shape)):
            raise self.refuse(inputs, "the source is smaller than the index")
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        if rows[0] is None and any(rows):
            raise RowRuleError("lets rows write into one tensor")
        for type, row in zip(types, rows, strict=True):
            kept_row(type, row, (self.axis,), "writes at elements of")
        return (aligned_row(types, rows),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, index, source = inputs
        x = x.copy()
        key = _places(index, self.axis, x.shape[self.axis])
        values = source[tuple(slice(size) for size in index.shape)]
        if self.function == "add":
            np.add.at(x, key, values)
        else:
            x[key] = values
        return results(x)


def _indexed_row(
    axes: tuple[int, ...], x: TensorType, row: RowAxis | None, indices: Types, rows: Rows
) -> RowAxis | None:
    """Where the batch sits in x[..., indices, ...]."""
    if row is not None and row.number:
        raise RowNumberError("picks from the positions of rows")
    picked = aligned_row(indices, rows)
    others = dict(zip(axes, rows, strict=True))
    own = None if row is None else others.pop(row.axis, None)
    if any(other is not None and other.number for other in others.values()):
        raise RowNumberError("picks elements by the position of the row")
    if row is not None and row.axis in axes:
        _expect_own_row(x, row, own)
    elif row is not None and picked is not None:
        raise RowRuleError("picks from every row with the indices of every other row")
    place = index_place(axes)
    if picked is not None:
        return moved_row(picked, place + picked.axis)
    if row is None:
        return None
    kept = row.axis - sum(axis < row.axis for axis in axes)
    rank = max(index.rank for index in indices)
    return moved_row(row, kept + rank if kept >= place else kept)


def _expect_own_row(x: TensorType, row: RowAxis, index: RowAxis | None) -> None:
    """Raises RowRuleError unless `index` picks from its own row on the batch axis of x."""
    if index is None or not index.number:
        raise RowRuleError(f"picks elements of {axis_name(x, row)}")
    if row.pre != 1 or index.number != row.post or (row.post == 1 and index.offset):
        raise RowRuleError("picks from rows other than its own")


def _expect_indices(
    op: Op, inputs: Types, x: TensorType, axes: tuple[int, ...], indices: Types
) -> None:
    op.expect_axes(inputs, x.rank, *axes)
    if not axes or list(axes) != sorted(axes):
        raise op.refuse(inputs, "needs ascending axes, at least one")
    if not all(index.dtype.is_integer for index in indices):
        raise op.refuse(inputs, "the indices must be integers")


def _indexed_shape(
    op: Op, inputs: Types, x: TensorType, axes: tuple[int, ...], indices: Types
) -> Shape:
    picked = op.broadcast(inputs, *(index.shape for index in indices))
    kept = tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
    place = index_place(axes)
    return kept[:place] + picked + kept[place:]


def index_place(axes: tuple[int, ...]) -> int:
    """Where the axes of the index tensors stand in the result of Index."""
    return axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def _key(axes: tuple[int, ...], indices: tuple[Array, ...]) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * (axes[-1] + 1)
    for axis, index in zip(axes, indices, strict=True):
        key[axis] = index
    return tuple(key)


def _expect_along(op: Op, inputs: Types, x: TensorType, index: TensorType, axis: int) -> None:
    op.expect_axes(inputs, x.rank, axis)
    if not index.dtype.is_integer:
        raise op.refuse(inputs, "the index must be of integers")
    fits = index.rank == x.rank and all(
        place == axis or _holds(x.shape[place], index.shape[place]) for place in range(x.rank)
    )
    if not fits:
        raise op.refuse(inputs, f"the index is larger than x outside of axis {axis}")


def _holds(outer: object, inner: object) -> bool:
    """True if `inner` is no larger than `outer` in any call."""
    if isinstance(outer, int) and isinstance(inner, int):
        return inner <= outer
    return outer == inner


def _places(index: Array, axis: int, size: int) -> tuple[Array, ...]:
    """The index arrays that read or write x along `axis` at `index`."""
    if np.any((index < 0) | (index >= size)):
        raise IndexError(f"an index is outside of an axis of {size}")
    places: list[Array] = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    return tuple(places)
