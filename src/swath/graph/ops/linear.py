"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import Array, Op, results
from swath.graph.types import DType, TensorType


@dataclass(frozen=True)
class Linear(Op):
    """x[..., K], weight[N, K] and optionally bias[N] -> x @ weight.T + bias, shape [..., N]."""

    name: ClassVar[str] = "linear"

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 2, 3)
        x, weight, *bias = inputs
        if x.rank < 1 or weight.rank != 2 or x.shape[-1] != weight.shape[1]:
            raise self.refuse(inputs, "expected x[..., K] and weight[N, K]")
        if bias and bias[0].shape != weight.shape[:1]:
            raise self.refuse(inputs, "expected bias[N]")
        if any(type.dtype is not x.dtype for type in inputs) or x.dtype is DType.BOOL:
            raise self.refuse(inputs, "the inputs must have one element type, not bool")
        return (TensorType(x.dtype, (*x.shape[:-1], weight.shape[0])),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, weight, *bias = inputs
        product = np.matmul(x, weight.T)
        return results(product + bias[0] if bias else product)


@dataclass(frozen=True)
class MatMul(Op):
    """a[..., M, K] @ b[..., K, N] with broadcast leading axes; both of rank 2 or more."""

    name: ClassVar[str] = "matmul"

    def infer(self, inputs: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.expect_inputs(inputs, 2)
        a, b = inputs
        if a.rank < 2 or b.rank < 2 or a.shape[-1] != b.shape[-2]:
            raise self.refuse(inputs, "expected a[..., M, K] and b[..., K, N]")
        if a.dtype is not b.dtype or a.dtype is DType.BOOL:
            raise self.refuse(inputs, "the inputs must have one element type, not bool")
        lead = self.broadcast(inputs, a.shape[:-2], b.shape[:-2])
        return (TensorType(a.dtype, (*lead, a.shape[-2], b.shape[-1])),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.matmul(inputs[0], inputs[1]))
