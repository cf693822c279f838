"""Normalisations in inference form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Cost,
    Op,
    RowAxis,
    Rows,
    Types,
    as_array,
    parameter_bytes,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import expect_no_batch, kept_row
from swath.graph.types import TensorType


@dataclass(frozen=True)
class BatchNorm(Op):
    """x[N, C, ...], mean[C], variance[C], weight[C], bias[C] -> normalised by channel with the
    running statistics (the frontend fills in ones and zeros for a missing weight or bias)."""

    name: ClassVar[str] = "batch_norm"
    epsilon: float

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 5)
        x, *channels = inputs
        if x.rank < 2 or any(type.shape != x.shape[1:2] for type in channels):
            raise self.refuse(inputs, "expected x[N, C, ...] and four tensors [C]")
        _expect_one_float(self, inputs)
        return (TensorType(x.dtype, x.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        x, *channels = rows
        expect_no_batch(types[1:], tuple(channels), "its channels")
        return (kept_row(types[0], x, (1,), "has a channel for each element of"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x = inputs[0]
        shape = (-1, *(1,) * (x.ndim - 2))
        mean, variance, weight, bias = (array.reshape(shape) for array in inputs[1:])
        scale = weight / np.sqrt(variance + as_array(self.epsilon, variance))
        return results((x - mean) * scale + bias)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(2 * row_elements(outputs[0]), parameter_bytes(inputs))


@dataclass(frozen=True)
class LayerNorm(Op):
    """Normalised over the last `axes` axes; inputs x, then optionally weight, bias (both or
    weight alone) of the shape of those axes."""

    name: ClassVar[str] = "layer_norm"
    axes: int
    epsilon: float

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1, 3)
        _expect_trailing(self, inputs, self.axes)
        return (TensorType(inputs[0].dtype, inputs[0].shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (_row_beside(types, rows, self.axes),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, *affine = inputs
        axes = tuple(range(-self.axes, 0))
        centred = x - np.mean(x, axis=axes, keepdims=True)
        variance = np.mean(np.square(centred), axis=axes, keepdims=True)
        result = centred / np.sqrt(variance + as_array(self.epsilon, x))
        if affine:
            result = result * affine[0]
        return results(result + affine[1] if len(affine) == 2 else result)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(8 * row_elements(outputs[0]), parameter_bytes(inputs))


@dataclass(frozen=True)
class RmsNorm(Op):
    """x / sqrt(mean(x^2) + epsilon) over the last `axes` axes, times an optional weight."""

    name: ClassVar[str] = "rms_norm"
    axes: int
    epsilon: float

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 1, 2)
        _expect_trailing(self, inputs, self.axes)
        return (TensorType(inputs[0].dtype, inputs[0].shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (_row_beside(types, rows, self.axes),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, *weight = inputs
        axes = tuple(range(-self.axes, 0))
        square = np.mean(np.square(x), axis=axes, keepdims=True)
        result = x / np.sqrt(square + as_array(self.epsilon, x))
        return results(result * weight[0] if weight else result)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(4 * row_elements(outputs[0]), parameter_bytes(inputs))


def _expect_one_float(op: Op, inputs: Types) -> None:
    dtype = inputs[0].dtype
    if not dtype.is_float or any(type.dtype is not dtype for type in inputs):
        raise op.refuse(inputs, "the inputs must have one float type")


def _row_beside(types: Types, rows: Rows, axes: int) -> RowAxis | None:
    expect_no_batch(types[1:], rows[1:], "its weights")
    rank = types[0].rank
    return kept_row(types[0], rows[0], range(rank - axes, rank), "normalises over")


def _expect_trailing(op: Op, inputs: Types, axes: int) -> None:
    x, *affine = inputs
    if not 1 <= axes <= x.rank:
        raise op.refuse(inputs, f"x has no {axes} trailing axes")
    if any(type.shape != x.shape[-axes:] for type in affine):
        raise op.refuse(inputs, "weight and bias must have the shape of the normalised axes")
    _expect_one_float(op, inputs)
