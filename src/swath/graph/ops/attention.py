"""Scaled dot-product attention."""

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
    as_array,
    parameter_bytes,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import aligned_row, axis_name
from swath.graph.types import DType, TensorType


@dataclass(frozen=True)
class Attention(Op):
    """q[..., L, E], k[..., S, E], v[..., S, D], optional mask[..., L, S] (bool: False is masked
    out; float: added) -> softmax(scale * q @ k.T + mask) @ v, as torch's
    scaled_dot_product_attention; `causal` masks position j > i. A query that may look at nothing
    gives zeros."""

    name: ClassVar[str] = "attention"
    scale: float
    causal: bool

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 3, 4)
        q, k, v, *mask = inputs
        if min(q.rank, k.rank, v.rank) < 2:
            raise self.refuse(inputs, "q, k and v must have 2 axes or more")
        if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            raise self.refuse(inputs, "expected q[..., L, E], k[..., S, E] and v[..., S, D]")
        if not q.dtype.is_float or {k.dtype, v.dtype} != {q.dtype}:
            raise self.refuse(inputs, "q, k and v must have one float type")
        if mask and mask[0].dtype not in (DType.BOOL, q.dtype):
            raise self.refuse(inputs, "the mask must be bool or have the type of q")
        lead = self.broadcast(inputs, q.shape[:-2], k.shape[:-2], v.shape[:-2])
        scores = (*lead, q.shape[-2], k.shape[-2])
        if mask and self.broadcast(inputs, scores, mask[0].shape) != scores:
            raise self.refuse(inputs, "the mask doesn't fit scores [..., L, S]")
        return (TensorType(q.dtype, (*lead, q.shape[-2], v.shape[-1])),)

    def row(self, types: Types, rows: Rows) -> Rows:
        for type, row in zip(types, rows, strict=True):
            if row is not None and row.axis >= type.rank - 2:
                raise RowRuleError(
                    f"attends over {axis_name(type, row)}",
                    "put the batch in front (batch_first=True), or transpose before attention",
                )
        rank = max(type.rank for type in types)
        return (aligned_row(types, rows, rank),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        q, k, v, *mask = inputs
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) * as_array(self.scale, q)
        hidden = as_array(-np.inf, q)
        if mask and mask[0].dtype == np.bool_:
            scores = np.where(mask[0], scores, hidden)
        elif mask:
            scores = scores + mask[0]
        if self.causal:
            rows, columns = scores.shape[-2:]
            scores = np.where(np.tri(rows, columns, dtype=np.bool_), scores, hidden)
        with np.errstate(all="ignore"):
            largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
            weights = np.exp(scores - largest)
            weights = weights / np.sum(weights, axis=-1, keepdims=True)
        blind = np.all(scores == hidden, axis=-1, keepdims=True)
        return results(np.matmul(np.where(blind, as_array(0, q), weights), v))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        (*_, keys, width), values = inputs[1].static_shape, outputs[0].static_shape[-1]
        scores = row_elements(outputs[0]) // max(values, 1) * keys
        return Cost(scores * (2 * width + 2 * values + 6), parameter_bytes(inputs))
