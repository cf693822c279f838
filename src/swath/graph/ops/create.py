"""Ops without inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, results
from swath.graph.types import Dim, DType, TensorType


@dataclass(frozen=True)
class Fill(Op):
    """A tensor of one value (bools as 0 and 1)."""

    name: ClassVar[str] = "fill"
    shape: tuple[Dim, ...]
    value: float
    dtype: DType

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 0)
        return (TensorType(self.dtype, self.shape),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        shape = TensorType(self.dtype, self.shape).static_shape
        return results(np.full(shape, self.value, dtype=self.dtype.numpy))


@dataclass(frozen=True)
class Iota(Op):
    """`start + step * i` for i in [0, length): arange. A batch length makes it row numbers."""

    name: ClassVar[str] = "iota"
    length: Dim
    start: int
    step: int
    dtype: DType

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 0)
        if self.dtype is DType.BOOL:
            raise self.refuse(inputs, "has no meaning for bool")
        return (TensorType(self.dtype, (self.length,)),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (length,) = TensorType(self.dtype, (self.length,)).static_shape
        numbers = self.start + self.step * np.arange(length, dtype=np.int64)
        return results(numbers.astype(self.dtype.numpy))
