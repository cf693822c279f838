"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Cost,
    Op,
    RowRuleError,
    Rows,
    Types,
    parameter_bytes,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import aligned_row, axis_name, expect_no_batch, kept_row
from swath.graph.types import DType, TensorType


@dataclass(frozen=True)
class Linear(Op):
    """x[..., K], weight[N, K] and optionally bias[N] -> x @ weight.T + bias, shape [..., N]."""

    name: ClassVar[str] = "linear"

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2, 3)
        x, weight, *bias = inputs
        if x.rank < 1 or weight.rank != 2 or x.shape[-1] != weight.shape[1]:
            raise self.refuse(inputs, "expected x[..., K] and weight[N, K]")
        if bias and bias[0].shape != weight.shape[:1]:
            raise self.refuse(inputs, "expected bias[N]")
        if any(type.dtype is not x.dtype for type in inputs) or x.dtype is DType.BOOL:
            raise self.refuse(inputs, "the inputs must have one element type, not bool")
        return (TensorType(x.dtype, (*x.shape[:-1], weight.shape[0])),)

    def row(self, types: Types, rows: Rows) -> Rows:
        x, *parameters = rows
        expect_no_batch(types[1:], tuple(parameters), "its weights")
        return (kept_row(types[0], x, (types[0].rank - 1,), "contracts"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        x, weight, *bias = inputs
        product = np.matmul(x, weight.T)
        return results(product + bias[0] if bias else product)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        products = row_elements(outputs[0]) * inputs[1].static_shape[1]
        bias = row_elements(outputs[0]) if len(inputs) == 3 else 0
        return Cost(2 * products + bias, parameter_bytes(inputs))


@dataclass(frozen=True)
class MatMul(Op):
    """a[..., M, K] @ b[..., K, N] with broadcast leading axes; both of rank 2 or more."""

    name: ClassVar[str] = "matmul"

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2)
        a, b = inputs
        if a.rank < 2 or b.rank < 2 or a.shape[-1] != b.shape[-2]:
            raise self.refuse(inputs, "expected a[..., M, K] and b[..., K, N]")
        if a.dtype is not b.dtype or a.dtype is DType.BOOL:
            raise self.refuse(inputs, "the inputs must have one element type, not bool")
        lead = self.broadcast(inputs, a.shape[:-2], b.shape[:-2])
        return (TensorType(a.dtype, (*lead, a.shape[-2], b.shape[-1])),)

    def row(self, types: Types, rows: Rows) -> Rows:
        (a, b), rank = rows, max(type.rank for type in types)
        if a is not None and b is not None:
            if (a.axis, b.axis) == (types[0].rank - 1, types[1].rank - 2):
                raise RowRuleError(f"contracts {axis_name(types[0], a)}")
            if a.axis >= types[0].rank - 2 or b.axis >= types[1].rank - 2:
                raise RowRuleError("multiplies every row with every other row")
        return (aligned_row(types, rows, rank),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return results(np.matmul(inputs[0], inputs[1]))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        products = row_elements(outputs[0]) * inputs[0].static_shape[-1]
        return Cost(2 * products, parameter_bytes(inputs))
