"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Linear(Op):
    """x[..., K], weight[N, K] and optionally bias[N] -> x @ weight.T + bias, shape [..., N]."""

    name: ClassVar[str] = "linear"


@dataclass(frozen=True)
class MatMul(Op):
    """a[..., M, K] @ b[..., K, N] with broadcast leading axes; both of rank 2 or more."""

    name: ClassVar[str] = "matmul"
