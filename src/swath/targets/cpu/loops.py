"""Loop axes: which ones a loop nest has, which of them fold into one, where the lanes run.

Axis "rows" stands for the rows of the swath. Each axis knows the stride of every operand along it;
a stride is an int, or the name of a parameter for the rows of an input, whose distance is known
only at the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from swath.tile.views import View

Stride = int | str


@dataclass(frozen=True, slots=True)
class Axis:
    """`rows` axes have `extent` times the rows of the swath; `reduced` ones are summed over."""

    extent: int
    strides: tuple[Stride, ...]
    rows: bool = False
    reduced: bool = False

    @property
    def bound(self) -> str:
        """The extent as code."""
        if not self.rows:
            return str(self.extent)
        return "rows" if self.extent == 1 else f"rows * {self.extent}"

    @property
    def likely_extent(self) -> int:
        """The extent, with a guess for the rows."""
        return self.extent * 16 if self.rows else self.extent


def row_stride(view: View, parameter: str) -> Stride:
    """Elements from one row to the next."""
    stride = view.buffer.row_elements
    return parameter if stride < 0 else stride


def loop_axes(
    shape: tuple[int, ...], views: list[View], names: list[str], reduced: tuple[int, ...] = ()
) -> list[Axis]:
    """The rows, then every axis of `shape` longer than one; `views` all have that shape."""
    parameters = [f"{name}_row" for name in names]
    strides = [row_stride(view, p) for view, p in zip(views, parameters, strict=True)]
    axes = [Axis(1, tuple(strides), rows=True)]
    for index, size in enumerate(shape):
        if size != 1:
            steps = tuple(view.strides[index] for view in views)
            axes.append(Axis(size, steps, reduced=index in reduced))
    return axes


def fold(axes: list[Axis]) -> list[Axis]:
    """Neighbours that every operand walks as one become one."""
    folded: list[Axis] = []
    for axis in axes:
        if folded and _joins(folded[-1], axis):
            outer = folded.pop()
            axis = Axis(outer.extent * axis.extent, axis.strides, outer.rows, axis.reduced)
        folded.append(axis)
    return folded


def _joins(outer: Axis, inner: Axis) -> bool:
    if outer.reduced != inner.reduced:
        return False
    return all(
        isinstance(o, int) and isinstance(i, int) and o == i * inner.extent
        for o, i in zip(outer.strides, inner.strides, strict=True)
    )


def order(axes: list[Axis]) -> list[Axis]:
    """Rows first, the other axes by falling stride of the first operand (the destination)."""
    rows = [axis for axis in axes if axis.rows]
    others = [axis for axis in axes if not axis.rows]

    def key(axis: Axis) -> int:
        stride = axis.strides[0]
        return -stride if isinstance(stride, int) else 0

    return rows + sorted(others, key=key)


STRIDED = 12.0  # cost of a load of lanes that lie apart, against 1 for lanes side by side
FOLDING = 10.0  # cost of adding up the lanes of a register


def lane_cost(axis: Axis) -> float:
    """Cost per element of running the lanes along an axis (of 16 lanes)."""
    loads = sum(0.3 if stride == 0 else 1.0 if stride == 1 else STRIDED for stride in axis.strides)
    extent = axis.likely_extent
    vectors = -(-extent // 16)
    work = vectors * (loads + 1.0) + (FOLDING if axis.reduced else 0.0)
    return work / max(1, extent)


def elements(axes: list[Axis]) -> int:
    """Elements that the axes run over, rows counted as one."""
    return prod(axis.extent for axis in axes)
