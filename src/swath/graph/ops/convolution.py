"""Convolution and pooling over one or two spatial axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Convolution(Op):
    """x[N, C, *spatial], weight[O, C / groups, *kernel], optional bias[O] -> [N, O, *spatial'].

    `padding` holds (before, after) a spatial axis (zeros)."""

    name: ClassVar[str] = "convolution"
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int


@dataclass(frozen=True)
class Pool(Op):
    """max or average ("mean") over windows of the trailing spatial axes of x[..., *spatial].

    Padding: -inf for max; for mean zeros, counted only if `count_padding`."""

    name: ClassVar[str] = "pool"
    function: str
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    count_padding: bool = True
