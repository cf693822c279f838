"""Ops that order the elements along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, results
from swath.graph.types import DType, TensorType


@dataclass(frozen=True)
class Sort(Op):
    """Stable sort along an axis; outputs values and int64 indices. NaN is larger than all."""

    name: ClassVar[str] = "sort"
    axis: int
    descending: bool

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        return TensorType(x.dtype, x.shape), TensorType(DType.INT64, x.shape)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        order = _order(x, self.axis, self.descending)
        return results(np.take_along_axis(x, order, self.axis), order)


@dataclass(frozen=True)
class TopK(Op):
    """The k largest (or smallest) elements along an axis in order, and their int64 indices; of
    equal elements the first come first."""

    name: ClassVar[str] = "topk"
    k: int
    axis: int
    largest: bool

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        size = x.shape[self.axis]
        if self.k < 0 or (isinstance(size, int) and self.k > size):
            raise self.refuse(inputs, f"axis {self.axis} has no {self.k} elements")
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return TensorType(x.dtype, shape), TensorType(DType.INT64, shape)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        first = np.arange(self.k)
        order = np.take(_order(x, self.axis, self.largest), first, axis=self.axis)
        return results(np.take_along_axis(x, order, self.axis), order)


def _order(x: Array, axis: int, descending: bool) -> Array:
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Backwards twice: equal elements keep their order.
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)
