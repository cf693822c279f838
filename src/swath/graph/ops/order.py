"""Ops that order the elements along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Sort(Op):
    """Stable sort along an axis; outputs values and int64 indices. NaN is larger than all."""

    name: ClassVar[str] = "sort"
    axis: int
    descending: bool


@dataclass(frozen=True)
class TopK(Op):
    """The k largest (or smallest) elements along an axis in order, and their int64 indices; of
    equal elements the first come first."""

    name: ClassVar[str] = "topk"
    k: int
    axis: int
    largest: bool
