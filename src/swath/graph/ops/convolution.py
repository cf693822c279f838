"""Convolution and pooling over one or two spatial axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from swath.graph.ops.base import (
    Array,
    Cost,
    Op,
    Rows,
    Types,
    parameter_bytes,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import expect_no_batch, kept_row
from swath.graph.types import Dim, TensorType


@dataclass(frozen=True)
class Convolution(Op):
    """x[N, C, *spatial], weight[O, C / groups, *kernel], optional bias[O] -> [N, O, *spatial'].

    `padding` holds (before, after) a spatial axis (zeros)."""

    name: ClassVar[str] = "convolution"
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2, 3)
        x, weight, *bias = inputs
        spatial = len(self.stride)
        if spatial not in (1, 2) or x.rank != spatial + 2 or weight.rank != x.rank:
            raise self.refuse(inputs, "expected x[N, C, *spatial] and weight[O, C, *kernel]")
        if len(self.padding) != spatial or len(self.dilation) != spatial:
            raise self.refuse(inputs, f"stride, padding and dilation must have {spatial} entries")
        if not all(isinstance(dim, int) for dim in weight.shape):
            raise self.refuse(inputs, "the size of the weight depends on the call")
        kernel = weight.static_shape
        if x.shape[1] != kernel[1] * self.groups or kernel[0] % self.groups:
            raise self.refuse(inputs, f"the channels don't fit {self.groups} groups")
        if bias and bias[0].shape != (kernel[0],):
            raise self.refuse(inputs, "expected bias[O]")
        if any(type.dtype is not x.dtype for type in inputs):
            raise self.refuse(inputs, "the inputs must have one element type")
        shape = [
            self._length(inputs, x.shape[axis + 2], kernel[axis + 2], axis)
            for axis in range(spatial)
        ]
        return (TensorType(x.dtype, (x.shape[0], kernel[0], *shape)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        x, *parameters = rows
        expect_no_batch(types[1:], tuple(parameters), "its weights")
        return (kept_row(types[0], x, range(1, types[0].rank), "convolves over"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, weight, *bias = inputs
        kernel = weight.shape[2:]
        x = np.pad(x, ((0, 0), (0, 0), *self.padding))
        windows = _windows(x, kernel, self.stride, self.dilation)
        # No -1 for the rows or channels: a call may have no rows.
        rows, channels = windows.shape[:2]
        windows = windows.reshape(rows, self.groups, channels // self.groups, *windows.shape[2:])
        weight = weight.reshape(self.groups, -1, *weight.shape[1:])
        space, inner = "xy"[: len(kernel)], "kl"[: len(kernel)]
        result = np.einsum(f"ngc{space}{inner},goc{inner}->ngo{space}", windows, weight)
        result = result.reshape(rows, result.shape[1] * result.shape[2], *result.shape[3:])
        if bias:
            result = result + bias[0].reshape(-1, *(1,) * len(kernel))
        return results(result)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        shape = inputs[1].static_shape
        products = row_elements(outputs[0]) * row_elements(inputs[1]) // max(shape[0], 1)
        bias = row_elements(outputs[0]) if len(inputs) == 3 else 0
        return Cost(2 * products + bias, parameter_bytes(inputs))

    def _length(self, inputs: Types, size: Dim, kernel: int, axis: int) -> int:
        if not isinstance(size, int):
            raise self.refuse(inputs, f"spatial axis {axis} depends on the call")
        reach = self.dilation[axis] * (kernel - 1) + 1
        free = size + sum(self.padding[axis]) - reach
        if free < 0:
            raise self.refuse(inputs, f"the kernel is larger than spatial axis {axis}")
        return free // self.stride[axis] + 1


@dataclass(frozen=True)
class Pool(Op):
    """max or average ("mean") over windows of the trailing spatial axes of x[..., *spatial].

    Padding: -inf for max; for mean zeros, counted only if `count_padding`."""

    name: ClassVar[str] = "pool"
    function: str
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    count_padding: bool = True

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        spatial = len(self.kernel)
        if self.function not in ("max", "mean"):
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if spatial not in (1, 2) or x.rank < spatial:
            raise self.refuse(inputs, "expected one or two spatial axes")
        if len(self.stride) != spatial or len(self.padding) != spatial:
            raise self.refuse(inputs, f"stride and padding must have {spatial} entries")
        if not x.dtype.is_float:
            raise self.refuse(inputs, f"has no meaning for {x.dtype.value}")
        shape = list(x.shape)
        for axis in range(spatial):
            shape[x.rank - spatial + axis] = self._length(inputs, axis)
        return (TensorType(x.dtype, tuple(shape)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        rank = types[0].rank
        return (kept_row(types[0], rows[0], range(rank - len(self.kernel), rank), "pools over"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        padding = ((0, 0),) * (x.ndim - len(self.kernel)) + self.padding
        inner = tuple(range(-len(self.kernel), 0))
        ones = (1,) * len(self.kernel)
        if self.function == "max":
            x = np.pad(x, padding, constant_values=-np.inf)
            return results(np.max(_windows(x, self.kernel, self.stride, ones), axis=inner))
        total = np.sum(_windows(np.pad(x, padding), self.kernel, self.stride, ones), axis=inner)
        counted = np.pad(np.ones_like(x), padding, constant_values=float(self.count_padding))
        count = np.sum(_windows(counted, self.kernel, self.stride, ones), axis=inner)
        with np.errstate(all="ignore"):
            return results(total / count)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(outputs[0]) * prod(self.kernel))

    def _length(self, inputs: Types, axis: int) -> int:
        size = inputs[0].shape[inputs[0].rank - len(self.kernel) + axis]
        if not isinstance(size, int):
            raise self.refuse(inputs, f"spatial axis {axis} depends on the call")
        free = size + sum(self.padding[axis]) - self.kernel[axis]
        if free < 0:
            raise self.refuse(inputs, f"the window is larger than spatial axis {axis}")
        return free // self.stride[axis] + 1


def _windows(
    x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """x[..., *spatial] -> [..., *places, *kernel]."""
    axes = tuple(range(x.ndim - len(kernel), x.ndim))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    windows = sliding_window_view(x, reach, axis=axes)
    steps = (slice(None, None, step) for step in (*stride, *dilation))
    return windows[(..., *steps)]
