"""Ops without inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op
from swath.graph.types import Dim, DType


@dataclass(frozen=True)
class Fill(Op):
    """A tensor of one value (bools as 0 and 1)."""

    name: ClassVar[str] = "fill"
    shape: tuple[Dim, ...]
    value: float
    dtype: DType


@dataclass(frozen=True)
class Iota(Op):
    """`start + step * i` for i in [0, length): arange. A batch length makes it row numbers."""

    name: ClassVar[str] = "iota"
    length: Dim
    start: int
    step: int
    dtype: DType
