"""Ops that order the elements along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Cost, Op, Rows, Types, results, row_elements
from swath.graph.ops.row_rules import kept_row
from swath.graph.types import DType, TensorType


@dataclass(frozen=True)
class Sort(Op):
    """Stable sort along an axis; outputs values and int64 indices. NaN is larger than all."""

    name: ClassVar[str] = "sort"
    axis: int
    descending: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        return TensorType(x.dtype, x.shape), TensorType(DType.INT64, x.shape)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = kept_row(types[0], rows[0], (self.axis,), "sorts")
        return row, row

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        order = _order(x, self.axis, self.descending)
        return results(np.take_along_axis(x, order, self.axis), order)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(inputs[0]) * _comparisons(inputs[0], self.axis))


@dataclass(frozen=True)
class TopK(Op):
    """The k largest (or smallest) elements along an axis in order, and their int64 indices; of
    equal elements the first come first."""

    name: ClassVar[str] = "topk"
    k: int
    axis: int
    largest: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        size = x.shape[self.axis]
        if self.k < 0 or (isinstance(size, int) and self.k > size):
            raise self.refuse(inputs, f"axis {self.axis} has no {self.k} elements")
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return TensorType(x.dtype, shape), TensorType(DType.INT64, shape)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = kept_row(types[0], rows[0], (self.axis,), "orders")
        return row, row

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        first = np.arange(self.k)
        order = np.take(_order(x, self.axis, self.largest), first, axis=self.axis)
        return results(np.take_along_axis(x, order, self.axis), order)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(inputs[0]) * _comparisons(inputs[0], self.axis))


def _comparisons(type: TensorType, axis: int) -> float:
    return max(1.0, log2(max(type.static_shape[axis], 1)))


def _order(x: Array, axis: int, descending: bool) -> Array:
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Backwards twice: equal elements keep their order.
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(order, axis)
