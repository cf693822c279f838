"""Ops without inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, RowNumberError, Rows, Types, results
from swath.graph.ops.row_rules import lone_row
from swath.graph.types import Dim, DType, RaggedSize, TensorType


@dataclass(frozen=True)
class Fill(Op):
    """A tensor of one value (bools as 0 and 1)."""

    name: ClassVar[str] = "fill"
    shape: tuple[Dim, ...]
    value: float
    dtype: DType

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 0)
        return (TensorType(self.dtype, self.shape),)

    def row(self, types: Types, rows: Rows) -> Rows:
        return (lone_row(self.shape),)

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

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 0)
        if self.dtype is DType.BOOL:
            raise self.refuse(inputs, "has no meaning for bool")
        return (TensorType(self.dtype, (self.length,)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        row = lone_row((self.length,))
        if row is None:
            return (None,)
        if isinstance(self.length, RaggedSize):
            raise RowNumberError(f"numbers the values of {self.length.name}")
        # Element k * b + q of a length of k * batch belongs to row b.
        offset = self.start != 0 or row.post > 1
        return (replace(row, number=self.step * row.post, offset=offset),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        (length,) = TensorType(self.dtype, (self.length,)).static_shape
        numbers = self.start + self.step * np.arange(length, dtype=np.int64)
        return results(numbers.astype(self.dtype.numpy))
