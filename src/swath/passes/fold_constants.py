"""Computes at compile time what depends on no input."""

from __future__ import annotations

from math import prod

import numpy as np

from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import Expand, Fill
from swath.graph.ops.base import Op
from swath.graph.types import TensorType

# A result may be this many times as large as what it is computed from, or of this many bytes.
_MOST_GROWTH = 4
_MOST_BYTES = 1 << 16
# Nothing larger is computed here at all.
_LIMIT_BYTES = 1 << 30


def fold_constants(graph: Graph) -> Graph:
    """Compute nodes whose inputs are all constants. What is much larger than its inputs stays a
    node, and so does an expand or a fill: they say more than their elements do.

    Before:
        input %x: f32[1,2] @candidate
        constant %a: f32[2] @once = [1.0, 2.0]
        constant %b: f32[] @once = 0.5
        %c: f32[2] @once = binary(%a, %b, function="mul")
        %d: f32[1,2] @once = reshape(%c, shape=[1, 2])
        %e: f32[3,2] @once = expand(%d, shape=[3, 2])
        %y: f32[3,2] @candidate = binary(%x, %e, function="add")
        return %y
    After:
        input %x: f32[1,2] @candidate
        constant %d: f32[1,2] @once = [0.5, 1.0]
        %e: f32[3,2] @once = expand(%d, shape=[3, 2])
        %y: f32[3,2] @candidate = binary(%x, %e, function="add")
        return %y
    """
    return _Folder(graph).run()


class _Folder:
    """Arrays of all values that are known, and the nodes that stay.

    A known value becomes a constant only where a node that stays reads it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.arrays = {value: graph.constants[value.name] for value in graph.constant_values}
        self.sparing: dict[Value, Node] = {}
        self.kept: set[Value] = set()
        self.nodes: list[Node] = []
        self.needed: dict[Value, Array] = {}

    def run(self) -> Graph:
        """The folded graph."""
        for node in self.graph.nodes:
            if not self.compute(node):
                self.keep(node)
        for value in self.graph.outputs:
            self.need(value)
        old = [value for value in self.graph.constant_values if value in self.needed]
        values = tuple(dict.fromkeys((*old, *self.needed)))
        arrays = {value.name: np.asarray(self.needed[value], order="C") for value in values}
        return Graph(self.graph.inputs, values, arrays, tuple(self.nodes), self.graph.outputs)

    def compute(self, node: Node) -> bool:
        """Compute the results of a node; False if that can't be done."""
        if not all(value in self.arrays for value in node.inputs):
            return False
        sizes = [_bytes(value.type) for value in node.outputs]
        if any(size is None or size > _LIMIT_BYTES for size in sizes):
            return False
        inputs = tuple(self.arrays[value] for value in node.inputs)
        try:
            with np.errstate(all="ignore"):
                results = node.op.reference(inputs)
        except IndexError:
            # The program says so too, if it ever gets there.
            return False
        self.arrays.update(zip(node.outputs, results, strict=True))
        if _says_more(node.op, inputs, results):
            self.sparing.update((value, node) for value in node.outputs)
        return True

    def keep(self, node: Node) -> None:
        """Let a node stay."""
        for value in node.inputs:
            self.need(value)
        self.nodes.append(node)

    def need(self, value: Value) -> None:
        """Let a known value be there, as a constant or by its node."""
        if value not in self.arrays or value in self.needed or value in self.kept:
            return
        node = self.sparing.get(value)
        if node is None:
            self.needed[value] = self.arrays[value]
            return
        self.kept.update(node.outputs)
        self.keep(node)


def _says_more(op: Op, inputs: tuple[Array, ...], results: tuple[Array, ...]) -> bool:
    before = sum(array.nbytes for array in inputs)
    after = sum(array.nbytes for array in results)
    if isinstance(op, Expand):
        return after > before
    if isinstance(op, Fill):
        return results[0].size > 1
    return after > max(_MOST_BYTES, _MOST_GROWTH * before)


def _bytes(type_: TensorType) -> int | None:
    sizes = [dim for dim in type_.shape if isinstance(dim, int)]
    return prod(sizes) * type_.dtype.size if len(sizes) == type_.rank else None
