"""Ops that only rearrange elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op
from swath.graph.types import Dim


@dataclass(frozen=True)
class Reshape(Op):
    """The elements in row-major order under another shape (all sizes given, no -1)."""

    name: ClassVar[str] = "reshape"
    shape: tuple[Dim, ...]


@dataclass(frozen=True)
class Permute(Op):
    """Axis i of the result is axis `axes[i]` of the input."""

    name: ClassVar[str] = "permute"
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Slice(Op):
    """Elements start, start + step, ... before stop along one axis. 0 <= start <= stop <= size,
    step > 0 (the frontend normalises). stop may be a BatchSize for a full slice."""

    name: ClassVar[str] = "slice"
    axis: int
    start: int
    stop: Dim
    step: int = 1


@dataclass(frozen=True)
class Take(Op):
    """The elements at constant positions `indices` along one axis (repeats allowed)."""

    name: ClassVar[str] = "take"
    axis: int
    indices: tuple[int, ...]


@dataclass(frozen=True)
class Expand(Op):
    """NumPy broadcast_to: new leading axes, size-1 axes repeated."""

    name: ClassVar[str] = "expand"
    shape: tuple[Dim, ...]


@dataclass(frozen=True)
class Concat(Op):
    """The inputs one behind the other along one axis; one element type."""

    name: ClassVar[str] = "concat"
    axis: int
