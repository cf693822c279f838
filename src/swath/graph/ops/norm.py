"""Normalisations in inference form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, as_array, results
from swath.graph.types import TensorType


@dataclass(frozen=True)
class BatchNorm(Op):
    """x[N, C, ...], mean[C], variance[C], weight[C], bias[C] -> normalised by channel with the
    running statistics (the frontend fills in ones and zeros for a missing weight or bias)."""

    name: ClassVar[str] = "batch_norm"
    epsilon: float

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 5)
        x, *channels = inputs
        if x.rank < 2 or any(type.shape != x.shape[1:2] for type in channels):
            raise self.refuse(inputs, "expected x[N, C, ...] and four tensors [C]")
        _expect_one_float(self, inputs)
        return (TensorType(x.dtype, x.shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x = inputs[0]
        shape = (-1, *(1,) * (x.ndim - 2))
        mean, variance, weight, bias = (array.reshape(shape) for array in inputs[1:])
        scale = weight / np.sqrt(variance + as_array(self.epsilon, variance))
        return results((x - mean) * scale + bias)


@dataclass(frozen=True)
class LayerNorm(Op):
    """Normalised over the last `axes` axes; inputs x, then optionally weight, bias (both or
    weight alone) of the shape of those axes."""

    name: ClassVar[str] = "layer_norm"
    axes: int
    epsilon: float

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 1, 3)
        _expect_trailing(self, inputs, self.axes)
        return (TensorType(inputs[0].dtype, inputs[0].shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, *affine = inputs
        axes = tuple(range(-self.axes, 0))
        centred = x - np.mean(x, axis=axes, keepdims=True)
        variance = np.mean(np.square(centred), axis=axes, keepdims=True)
        result = centred / np.sqrt(variance + as_array(self.epsilon, x))
        if affine:
            result = result * affine[0]
        return results(result + affine[1] if len(affine) == 2 else result)


@dataclass(frozen=True)
class RmsNorm(Op):
    """x / sqrt(mean(x^2) + epsilon) over the last `axes` axes, times an optional weight."""

    name: ClassVar[str] = "rms_norm"
    axes: int
    epsilon: float

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 1, 2)
        _expect_trailing(self, inputs, self.axes)
        return (TensorType(inputs[0].dtype, inputs[0].shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, *weight = inputs
        axes = tuple(range(-self.axes, 0))
        square = np.mean(np.square(x), axis=axes, keepdims=True)
        result = x / np.sqrt(square + as_array(self.epsilon, x))
        return results(result * weight[0] if weight else result)


def _expect_one_float(op: Op, inputs: tuple[TensorType, ...]) -> None:
    dtype = inputs[0].dtype
    if not dtype.is_float or any(type.dtype is not dtype for type in inputs):
        raise op.refuse(inputs, "the inputs must have one float type")


def _expect_trailing(op: Op, inputs: tuple[TensorType, ...], axes: int) -> None:
    x, *affine = inputs
    if not 1 <= axes <= x.rank:
        raise op.refuse(inputs, f"x has no {axes} trailing axes")
    if any(type.shape != x.shape[-axes:] for type in affine):
        raise op.refuse(inputs, "weight and bias must have the shape of the normalised axes")
    _expect_one_float(op, inputs)
