"""Reading and writing at positions that are values of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Index(Op):
    """PyTorch advanced indexing x[..., i, ..., j, ...]: inputs x, then one integer tensor for each
    of `axes` (ascending; negative indices count from the end). The index tensors broadcast; the
    result axes stand in place of the first axis if `axes` are adjacent, else in front."""

    name: ClassVar[str] = "index"
    axes: tuple[int, ...]


@dataclass(frozen=True)
class IndexPut(Op):
    """A copy of x with x[..., i, ..., j, ...] set (or increased, if `accumulate`): inputs x,
    values (broadcast), then one integer tensor for each of `axes`."""

    name: ClassVar[str] = "index_put"
    axes: tuple[int, ...]
    accumulate: bool


@dataclass(frozen=True)
class Gather(Op):
    """torch.gather: result[.., i, ..] = x[.., index[.., i, ..], ..] along `axis`."""

    name: ClassVar[str] = "gather"
    axis: int


@dataclass(frozen=True)
class Scatter(Op):
    """torch.scatter ("set") or scatter_add ("add") along `axis`: inputs x, index, source."""

    name: ClassVar[str] = "scatter"
    axis: int
    function: str
