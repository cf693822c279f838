"""Ops that combine the elements along axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from swath.graph.ops.base import Array, Cost, Op, Rows, Types, results, row_elements
from swath.graph.ops.row_rules import kept_row, without_axes
from swath.graph.types import DType, Shape, TensorType

REDUCE_FUNCTIONS = ("sum", "mean", "max", "min", "prod", "any", "all")
_ACTIONS = {
    "sum": "sums over",
    "mean": "averages over",
    "max": "takes the maximum over",
    "min": "takes the minimum over",
    "prod": "multiplies over",
    "any": "asks for any element over",
    "all": "asks for all elements over",
}


@dataclass(frozen=True)
class Reduce(Op):
    """sum, mean, max, min, prod (float or integer), any, all (bool) over `axes`. max and min
    propagate NaN. With `keepdim` the axes stay with size 1."""

    name: ClassVar[str] = "reduce"
    function: str
    axes: tuple[int, ...]
    keepdim: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, *self.axes)
        if self.function not in REDUCE_FUNCTIONS:
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if self.function in ("any", "all"):
            fits = x.dtype is DType.BOOL
        else:
            fits = x.dtype.is_float or (x.dtype.is_integer and self.function != "mean")
        if not fits:
            raise self.refuse(inputs, f"{self.function} has no meaning for {x.dtype.value}")
        if self.function in ("max", "min") and 0 in (x.shape[axis] for axis in self.axes):
            raise self.refuse(inputs, f"the {self.function} of no elements has no value")
        return (TensorType(x.dtype, _reduced(x.shape, self.axes, self.keepdim)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = kept_row(types[0], rows[0], self.axes, _ACTIONS[self.function])
        return (row if self.keepdim else without_axes(row, self.axes),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        axes, keep = self.axes, self.keepdim
        result: Any
        match self.function:
            case "sum":
                result = np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)
            case "prod":
                result = np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)
            case "mean":
                # The mean of no elements is NaN, as in PyTorch, without NumPy's warning.
                count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
                with np.errstate(all="ignore"):
                    result = np.sum(x, axis=axes, keepdims=keep) / x.dtype.type(count)
            case "max":
                result = np.max(x, axis=axes, keepdims=keep)
            case "min":
                result = np.min(x, axis=axes, keepdims=keep)
            case "any":
                result = np.any(x, axis=axes, keepdims=keep)
            case _:
                result = np.all(x, axis=axes, keepdims=keep)
        return results(result)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(inputs[0]))


@dataclass(frozen=True)
class ArgReduce(Op):
    """Index (int64) of the first maximum (`function` "max") or minimum ("min") along an axis; NaN
    counts as the extreme, as in PyTorch."""

    name: ClassVar[str] = "arg_reduce"
    function: str
    axis: int
    keepdim: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        if self.function not in ("max", "min"):
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if x.shape[self.axis] == 0:
            raise self.refuse(inputs, f"the {self.function} of no elements has no place")
        return (TensorType(DType.INT64, _reduced(x.shape, (self.axis,), self.keepdim)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = kept_row(types[0], rows[0], (self.axis,), f"finds the {self.function} over")
        return (row if self.keepdim else without_axes(row, (self.axis,)),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        find = np.argmax if self.function == "max" else np.argmin
        index = find(inputs[0], axis=self.axis, keepdims=self.keepdim)
        return results(np.asarray(index, dtype=np.int64))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(inputs[0]))


@dataclass(frozen=True)
class Softmax(Op):
    """softmax along an axis, or its logarithm; the maximum is subtracted first."""

    name: ClassVar[str] = "softmax"
    axis: int
    log: bool = False

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        if not x.dtype.is_float:
            raise self.refuse(inputs, f"has no meaning for {x.dtype.value}")
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (kept_row(types[0], rows[0], (self.axis,), "takes the softmax over"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        with np.errstate(all="ignore"):
            shifted = x - np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
            exponentials = np.exp(shifted)
            total = np.sum(exponentials, axis=self.axis, keepdims=True)
            return results(shifted - np.log(total) if self.log else exponentials / total)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(5 * row_elements(inputs[0]))


@dataclass(frozen=True)
class Cumulative(Op):
    """Running sum ("sum") or product ("prod") along an axis."""

    name: ClassVar[str] = "cumulative"
    function: str
    axis: int

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1)
        (x,) = inputs
        self.expect_axes(inputs, x.rank, self.axis)
        if self.function not in ("sum", "prod"):
            raise self.refuse(inputs, f"there is no function {self.function!r}")
        if x.dtype is DType.BOOL:
            raise self.refuse(inputs, "has no meaning for bool")
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (
            kept_row(types[0], rows[0], (self.axis,), f"takes the running {self.function} over"),
        )

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (x,) = inputs
        run = np.cumsum if self.function == "sum" else np.cumprod
        return results(run(x, axis=self.axis, dtype=x.dtype))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(row_elements(inputs[0]))


def _reduced(shape: Shape, axes: tuple[int, ...], keepdim: bool) -> Shape:
    if keepdim:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)
