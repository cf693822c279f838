"""Lookups: rows of constant tables by id. An id outside of its table follows the declared policy
of the input (see swath.Input) and never reads outside of the table; the references raise
IndexError, which is the policy "error"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from swath.graph.ops.base import (
    Array,
    Cost,
    Op,
    RowAxis,
    RowRuleError,
    Rows,
    Types,
    join_spaces,
    results,
    row_elements,
)
from swath.graph.ops.row_rules import expect_no_batch, kept_row
from swath.graph.types import BatchSize, Dim, DType, RaggedSize, Space, TensorType

BAG_MODES = ("sum", "mean", "max")


@dataclass(frozen=True)
class Embedding(Op):
    """table[V, D], ids[...] (int64 or int32) -> rows [..., D]."""

    name: ClassVar[str] = "embedding"

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 2)
        table, ids = inputs
        if table.rank != 2:
            raise self.refuse(inputs, "expected table[V, D]")
        if not _are_ids(ids):
            raise self.refuse(inputs, "ids must be int64 or int32")
        return (TensorType(table.dtype, (*ids.shape, table.shape[1])),)

    def row(self, types: Types, rows: Rows) -> Rows:
        table, ids = rows
        expect_no_batch(types[:1], (table,), "the table that is looked up")
        return (ids,)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        table, ids = inputs
        return results(_rows(table, ids))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(0, row_elements(outputs[0]) * outputs[0].dtype.size)


@dataclass(frozen=True)
class LookupGroup(Op):
    """Many tables of one width at once: ids[..., T], then T tables [V_t, D] -> [..., T, D].

    The result at [..., t, :] is table t's row at ids[..., t]."""

    name: ClassVar[str] = "lookup_group"

    def infer(self, inputs: Types) -> Types:
        if len(inputs) < 2:
            raise self.refuse(inputs, "takes ids and at least one table")
        ids, *tables = inputs
        if not _are_ids(ids) or ids.rank < 1 or ids.shape[-1] != len(tables):
            raise self.refuse(inputs, f"expected ids[..., {len(tables)}] of int64 or int32")
        width, dtype = tables[0].shape[-1:], tables[0].dtype
        if any(t.rank != 2 or t.shape[1:] != width or t.dtype is not dtype for t in tables):
            raise self.refuse(inputs, "the tables must have two axes, one width and one type")
        return (TensorType(dtype, (*ids.shape, *width)),)

    def row(self, types: Types, rows: Rows) -> Rows:
        ids, *tables = rows
        expect_no_batch(types[1:], tuple(tables), "a table that is looked up")
        return (kept_row(types[0], ids, (types[0].rank - 1,), "gives a table each to"),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        ids, *tables = inputs
        rows = [_rows(table, ids[..., column]) for column, table in enumerate(tables)]
        return results(np.stack(rows, axis=-2))

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        return Cost(0, row_elements(outputs[0]) * outputs[0].dtype.size)


@dataclass(frozen=True)
class EmbeddingBag(Op):
    """table[V, D], ids[~n], offsets[B] (B + 1 with `include_last`), optional weights[~n] ->
    pooled[B, D]: row b pools ids[offsets[b] : offsets[b + 1]] by `mode` sum, mean or max.

    Ids equal to `padding_id` are left out (of the count of a mean too); -1 means none. An empty
    bag gives zeros. Weights only go with sum.

    In row form offsets has size 1 with and without `include_last`; row b of the call reads
    offsets[b] and offsets[b + 1], where the last row ends at n if that isn't there."""

    name: ClassVar[str] = "embedding_bag"
    takes_bag_ends: ClassVar[bool] = True
    mode: str
    include_last: bool
    padding_id: int = -1

    def infer(self, inputs: Types) -> Types:
        self.expect_inputs(inputs, 3, 4)
        table, ids, offsets, *weights = inputs
        if self.mode not in BAG_MODES:
            raise self.refuse(inputs, f"there is no mode {self.mode!r}")
        if table.rank != 2 or ids.rank != 1 or offsets.rank != 1:
            raise self.refuse(inputs, "expected table[V, D], ids[n] and offsets[B]")
        if not _are_ids(ids) or not _are_ids(offsets):
            raise self.refuse(inputs, "ids and offsets must be int64 or int32")
        if weights and self.mode != "sum":
            raise self.refuse(inputs, f"weights don't go with mode {self.mode}")
        if weights and (weights[0].shape != ids.shape or weights[0].dtype is not table.dtype):
            raise self.refuse(inputs, "weights must have the shape of ids and the table's type")
        return (TensorType(table.dtype, (self._bags(inputs), table.shape[1])),)

    def result_types(self, inputs: Types) -> Types:
        # The bag goes from the space of the ids to that of the offsets.
        space = join_spaces((inputs[0].space, inputs[2].space))
        return tuple(type.with_space(space) for type in self.infer(inputs))

    def row(self, types: Types, rows: Rows) -> Rows:
        table, ids, offsets, *weights = rows
        expect_no_batch(types[:1], (table,), "the table that is looked up")
        if ids is None and offsets is None and not any(weights):
            return (None,)
        ragged = (types[1], *types[3:])
        if not isinstance(types[2].shape[0], BatchSize) or not all(
            isinstance(type.shape[0], RaggedSize) for type in ragged
        ):
            raise RowRuleError(
                "pools ids that are not a ragged input with one offset a row",
                "give ids of a fixed number a row the shape [batch, ids]",
            )
        if types[2].shape[0].multiple != 1:
            raise RowRuleError("pools several bags a row", "use one bag a row, or a table each")
        return (RowAxis(0),)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        table, ids, offsets, *weights = inputs
        ends = (offsets if self.include_last else np.append(offsets, len(ids)))[1:]
        pooled = np.zeros((len(ends), table.shape[1]), dtype=table.dtype)
        for row, (start, end) in enumerate(zip(offsets, ends, strict=False)):
            if not 0 <= start <= end <= len(ids):
                raise IndexError(f"bag {row} is [{start}, {end}) of {len(ids)} ids")
            kept = ids[start:end] != self.padding_id
            rows = _rows(table, ids[start:end][kept])
            if weights:
                rows = rows * weights[0][start:end][kept][:, None]
            if len(rows):
                pooled[row] = _POOL[self.mode](rows, axis=0)
        return results(pooled)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        # One id a bag: how many there are is known by the call only.
        return Cost(row_elements(outputs[0]), row_elements(outputs[0]) * outputs[0].dtype.size)

    def _bags(self, inputs: Types) -> Dim:
        offsets = inputs[2]
        (size,) = offsets.shape
        if not self.include_last or offsets.space not in (None, Space.ONCE):
            return size
        if isinstance(size, BatchSize):
            return BatchSize(size.multiple, size.extra - 1)
        if isinstance(size, int) and size > 0:
            return size - 1
        raise self.refuse(inputs, "offsets must hold the end of the last bag")


_POOL = {"sum": np.sum, "mean": np.mean, "max": np.max}


def _are_ids(type: TensorType) -> bool:
    return type.dtype in (DType.INT64, DType.INT32)


def _rows(table: Array, ids: Array) -> Array:
    outside = (ids < 0) | (ids >= len(table))
    if np.any(outside):
        raise IndexError(f"id {ids[outside].flat[0]} is outside of a table of {len(table)} rows")
    return table[ids]
