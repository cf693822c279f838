"""Sorting along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import mixes_rows
from swath.graph.ir import Value
from swath.graph.ops import Sort, TopK
from swath.graph.ops.base import normalize_axis


def row_axis(context: Context, x: Value, dim: int) -> int:
    """A non-negative axis that isn't the batch. Raises Unsupported."""
    axis = normalize_axis(dim, x.type.rank)
    if not isinstance(x.type.shape[axis], int):
        raise mixes_rows(context.op, "orders the rows of the batch")
    return axis


def sort(context: Context, x: Value, dim: int = -1, descending: bool = False) -> Any:
    """Values and positions in order."""
    return context.add_many(Sort(row_axis(context, x, dim), descending), x)


def stable_sort(
    context: Context,
    x: Value,
    *,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> Any:
    """The same; ours is always stable."""
    del stable
    return sort(context, x, dim, descending)


def argsort(context: Context, x: Value, dim: int = -1, descending: bool = False) -> Value:
    """Positions in order."""
    return sort(context, x, dim, descending)[1]


def stable_argsort(
    context: Context, x: Value, *, stable: bool, dim: int = -1, descending: bool = False
) -> Value:
    """Positions in order."""
    del stable
    return sort(context, x, dim, descending)[1]


def topk(
    context: Context, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    """The k largest or smallest and their positions."""
    del sorted
    return context.add_many(TopK(k, row_axis(context, x, dim), largest), x)


def kth_value(context: Context, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest and its position."""
    axis = row_axis(context, x, dim)
    ordered = context.add_many(Sort(axis, False), x)
    parts = [context.slice(value, axis, k - 1, k) for value in ordered]
    return parts if keepdim else [context.drop_axis(part, axis) for part in parts]


def median(context: Context, x: Value, dim: int = -1, keepdim: bool = False) -> Any:
    """The lower median and its position."""
    size = x.type.shape[row_axis(context, x, dim)]
    assert isinstance(size, int)
    return kth_value(context, x, (size + 1) // 2, dim, keepdim)


RULES: Mapping[str, Rule] = {
    **aliases(sort, "sort.default"),
    **aliases(stable_sort, "sort.stable"),
    **aliases(argsort, "argsort.default"),
    **aliases(stable_argsort, "argsort.stable"),
    **aliases(topk, "topk.default"),
    **aliases(kth_value, "kthvalue.default"),
    **aliases(median, "median.dim"),
}
