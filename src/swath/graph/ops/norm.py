"""Normalisations in inference form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class BatchNorm(Op):
    """x[N, C, ...], mean[C], variance[C], weight[C], bias[C] -> normalised by channel with the
    running statistics (the frontend fills in ones and zeros for a missing weight or bias)."""

    name: ClassVar[str] = "batch_norm"
    epsilon: float


@dataclass(frozen=True)
class LayerNorm(Op):
    """Normalised over the last `axes` axes; inputs x, then optionally weight, bias (both or
    weight alone) of the shape of those axes."""

    name: ClassVar[str] = "layer_norm"
    axes: int
    epsilon: float


@dataclass(frozen=True)
class RmsNorm(Op):
    """x / sqrt(mean(x^2) + epsilon) over the last `axes` axes, times an optional weight."""

    name: ClassVar[str] = "rms_norm"
    axes: int
    epsilon: float
