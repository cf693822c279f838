"""Ops that combine the elements along axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op

REDUCE_FUNCTIONS = ("sum", "mean", "max", "min", "prod", "any", "all")


@dataclass(frozen=True)
class Reduce(Op):
    """sum, mean, max, min, prod (float or integer), any, all (bool) over `axes`. max and min
    propagate NaN. With `keepdim` the axes stay with size 1."""

    name: ClassVar[str] = "reduce"
    function: str
    axes: tuple[int, ...]
    keepdim: bool


@dataclass(frozen=True)
class ArgReduce(Op):
    """Index (int64) of the first maximum (`function` "max") or minimum ("min") along an axis; NaN
    counts as the extreme, as in PyTorch."""

    name: ClassVar[str] = "arg_reduce"
    function: str
    axis: int
    keepdim: bool


@dataclass(frozen=True)
class Softmax(Op):
    """softmax along an axis, or its logarithm; the maximum is subtracted first."""

    name: ClassVar[str] = "softmax"
    axis: int
    log: bool = False


@dataclass(frozen=True)
class Cumulative(Op):
    """Running sum ("sum") or product ("prod") along an axis."""

    name: ClassVar[str] = "cumulative"
    function: str
    axis: int
