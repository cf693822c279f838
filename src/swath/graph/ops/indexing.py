"""Reading and writing at positions that are values of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, results
from swath.graph.types import Shape, TensorType


@dataclass(frozen=True)
class Index(Op):
    """PyTorch advanced indexing x[..., i, ..., j, ...]: inputs x, then one integer tensor for each
    of `axes` (ascending; negative indices count from the end). The index tensors broadcast; the
    result axes stand in place of the first axis if `axes` are adjacent, else in front."""

    name: ClassVar[str] = "index"
    axes: tuple[int, ...]

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 1 + len(self.axes))
        _expect_indices(self, inputs, inputs[0], self.axes, inputs[1:])
        shape = _indexed_shape(self, inputs, inputs[0], self.axes, inputs[1:])
        return (TensorType(inputs[0].dtype, shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(inputs[0][_key(self.axes, inputs[1:])])


@dataclass(frozen=True)
class IndexPut(Op):
    """A copy of x with x[..., i, ..., j, ...] set (or increased, if `accumulate`): inputs x,
    values (broadcast), then one integer tensor for each of `axes`."""

    name: ClassVar[str] = "index_put"
    axes: tuple[int, ...]
    accumulate: bool

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 2 + len(self.axes))
        x, values = inputs[:2]
        _expect_indices(self, inputs, x, self.axes, inputs[2:])
        if values.dtype is not x.dtype:
            raise self.refuse(inputs, "x and the values must have one element type")
        shape = _indexed_shape(self, inputs, x, self.axes, inputs[2:])
        if self.broadcast(inputs, shape, values.shape) != shape:
            raise self.refuse(inputs, "the values don't broadcast to the places they go to")
        return (TensorType(x.dtype, x.shape),)

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

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 2)
        x, index = inputs
        _expect_along(self, inputs, x, index, self.axis)
        return (TensorType(x.dtype, index.shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, index = inputs
        return results(x[_places(index, self.axis, x.shape[self.axis])])


@dataclass(frozen=True)
class Scatter(Op):
    """torch.scatter ("set") or scatter_add ("add") along `axis`: inputs x, index, source."""

    name: ClassVar[str] = "scatter"
    axis: int
    function: str

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
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


def _expect_indices(
    op: Op,
    inputs: tuple[TensorType, ...],
    x: TensorType,
    axes: tuple[int, ...],
    indices: tuple[TensorType, ...],
) -> None:
    op.expect_axes(inputs, x.rank, *axes)
    if not axes or list(axes) != sorted(axes):
        raise op.refuse(inputs, "needs ascending axes, at least one")
    if not all(index.dtype.is_integer for index in indices):
        raise op.refuse(inputs, "the indices must be integers")


def _indexed_shape(
    op: Op,
    inputs: tuple[TensorType, ...],
    x: TensorType,
    axes: tuple[int, ...],
    indices: tuple[TensorType, ...],
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


def _expect_along(
    op: Op, inputs: tuple[TensorType, ...], x: TensorType, index: TensorType, axis: int
) -> None:
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
