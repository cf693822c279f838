"""Scaled dot-product attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Attention(Op):
    """q[..., L, E], k[..., S, E], v[..., S, D], optional mask[..., L, S] (bool: False is masked
    out; float: added) -> softmax(scale * q @ k.T + mask) @ v, as torch's
    scaled_dot_product_attention; `causal` masks position j > i."""

    name: ClassVar[str] = "attention"
    scale: float
    causal: bool
