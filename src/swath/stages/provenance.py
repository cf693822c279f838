"""Where the ids of a lookup come from among the inputs, so that errors and policies can name it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Cast, Concat, Permute, Reshape, Slice, Take
from swath.graph.types import RaggedSize

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Source:
    """An input, and the place of an element in its row (None: any of them)."""

    input: Value
    column: int | None


@dataclass(slots=True)
class Provenance:
    """Follows elements of values back through ops that only move or convert them."""

    graph: Graph
    _producers: dict[Value, Node] = field(init=False)

    def __post_init__(self) -> None:
        self._producers = self.graph.producers()

    def source(self, ids: Value, elements: slice) -> Source | None:
        """Where the elements of `ids` (flat) come from; None if from several inputs or computed.

        The column is told where it is a single element.
        """
        if any(isinstance(dim, RaggedSize) for dim in ids.type.shape):
            return Source(ids, None) if ids in self.graph.inputs else None
        return self._follow(ids, np.arange(ids.type.elements)[elements])

    def _follow(self, value: Value, cells: Cells) -> Source | None:
        while (node := self._producers.get(value)) is not None:
            step = _step(node, cells)
            if step is None:
                return None
            value, cells = step
        if value not in self.graph.inputs or not len(cells):
            return None
        return Source(value, int(cells[0]) if len(cells) == 1 else None)


def _step(node: Node, cells: Cells) -> tuple[Value, Cells] | None:
    """The input of a moving op and the flat places there of flat places of its output."""
    if not node.inputs:
        return None
    source = node.inputs[0]
    if isinstance(node.op, Cast | Reshape):
        return source, cells
    if isinstance(node.op, Concat):
        return _part(node, cells)
    places = np.arange(source.type.elements).reshape(source.type.static_shape)
    if isinstance(node.op, Slice | Take | Permute):
        (moved,) = node.op.reference((places,))
        return source, moved.reshape(-1)[cells]
    return None


def _part(node: Node, cells: Cells) -> tuple[Value, Cells] | None:
    """The one part of a concatenation that all cells lie in."""
    assert isinstance(node.op, Concat)
    starts = [0]
    parts: list[Cells] = []
    for value in node.inputs:
        numbers: Cells = np.arange(starts[-1], starts[-1] + value.type.elements)
        parts.append(numbers.reshape(value.type.static_shape))
        starts.append(starts[-1] + value.type.elements)
    found: Cells = np.concatenate(parts, axis=node.op.axis).reshape(-1)[cells]
    index = bisect_right(starts, int(found[0])) - 1
    if np.any((found < starts[index]) | (found >= starts[index + 1])):
        return None
    return node.inputs[index], found - starts[index]
