"""Order the columns of a weight as its input is stored."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Concat, Linear, Permute, Reshape, Take
from swath.passes.packing.emitter import Emitter

Positions = npt.NDArray[np.intp]


def reorder_weights(graph: Graph) -> Graph:
    """Let a linear read its input in the order in which it is stored, and reorder the columns of
    its weight instead of the elements of the input.

    Takes and permutes that every element of their source goes through fall away, also behind
    reshapes and concatenations. An element that is read twice gets the sum of both columns.

    Before:
        input %x: f32[1,3,2] @candidate
        constant %w: f32[2,6] @once
        %turned: f32[1,2,3] @candidate = permute(%x, axes=[0, 2, 1])
        %flat: f32[1,6] @candidate = reshape(%turned, shape=[1, 6])
        %y: f32[1,2] @candidate = linear(%flat, %w)
        return %y
    After:
        input %x: f32[1,3,2] @candidate
        constant %w_ordered: f32[2,6] @once
        %x_1: f32[1,6] @candidate = reshape(%x, shape=[1, 6])
        %y_1: f32[1,2] @candidate = linear(%x_1, %w_ordered)
        return %y_1
    """
    walker = _Walker(graph)
    emitter = Emitter(graph)
    for node in graph.nodes:
        order = walker.order(node)
        if order is None:
            emitter.keep(node)
        else:
            emitter.replaced[node.output] = _ordered(emitter, node, order)
    return emitter.build()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A value, and for each element in the order of reading its place in it (row-major)."""

    value: Value
    positions: Positions


class _Walker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._producers = graph.producers()
        self._users = graph.users()
        self._outputs = set(graph.outputs)
        self._known: dict[Value, list[_Piece] | None] = {}

    def order(self, node: Node) -> list[_Piece] | None:
        """The pieces that a linear's input is made of if reading them as stored saves a node."""
        if not isinstance(node.op, Linear) or self.graph.constant(node.inputs[1]) is None:
            return None
        x = node.inputs[0]
        if x not in self._known:
            self._known[x] = self._pieces(x)
        return self._known[x]

    def _pieces(self, x: Value) -> list[_Piece] | None:
        shape = x.type.shape
        if any(size != 1 for size in shape[:-1]) or shape[-1] == 0:
            return None
        if not isinstance(shape[-1], int):
            return None
        if any(not isinstance(user.op, Linear) for user in self._users[x]) or x in self._outputs:
            return None
        pieces: list[_Piece] = []
        saved = 0
        stack = [_Piece(x, np.arange(shape[-1]))]
        while stack:
            piece = stack.pop()
            sources = self._sources(piece) if piece.value is x or self._is_private(piece) else None
            if sources is None:
                pieces.append(piece)
            else:
                saved += not isinstance(self._producers[piece.value].op, Reshape | Concat)
                stack += sources[::-1]
        whole = all(len(np.unique(p.positions)) == p.value.type.elements for p in pieces)
        return pieces if saved and whole else None

    def _is_private(self, piece: _Piece) -> bool:
        return len(self._users[piece.value]) == 1 and piece.value not in self._outputs

    def _sources(self, piece: _Piece) -> list[_Piece] | None:
        """The same elements in the inputs of the node that moved them."""
        node = self._producers.get(piece.value)
        if node is None or not isinstance(node.op, Concat | Permute | Reshape | Take):
            return None
        numbered: list[npt.NDArray[Any]] = []
        count = 0
        for value in node.inputs:
            shape = value.type.static_shape
            numbered.append(np.arange(count, count + prod(shape)).reshape(shape))
            count += prod(shape)
        (moved,) = node.op.reference(tuple(numbered))
        positions = moved.reshape(-1)[piece.positions]
        return _split(node.inputs, positions)


def _split(values: tuple[Value, ...], positions: Positions) -> list[_Piece] | None:
    """Positions in values laid one behind the other, as a piece of each; None if the pieces are
    read by turns."""
    ends = np.cumsum([value.type.elements for value in values])
    source = np.searchsorted(ends, positions, side="right")
    changes = np.flatnonzero(np.diff(source)) + 1
    runs = np.split(positions, changes)
    order = [int(source[start]) for start in (0, *changes)]
    if len(set(order)) != len(order):
        return None
    starts = ends - [value.type.elements for value in values]
    return [_Piece(values[i], run - starts[i]) for i, run in zip(order, runs, strict=True)]


def _ordered(emitter: Emitter, node: Node, pieces: list[_Piece]) -> Value:
    lead = node.inputs[0].type.static_shape[:-1]
    parts = tuple(
        emitter.reshape(emitter.get(piece.value), (*lead, piece.value.type.elements))
        for piece in pieces
    )
    weight = node.inputs[1]

    def columns() -> npt.NDArray[Any]:
        old = emitter.array(weight)
        new = np.zeros((len(old), sum(part.type.elements for part in parts)), old.dtype)
        read = stored = 0
        for piece in pieces:
            count = len(piece.positions)
            np.add.at(new.T, stored + piece.positions, old.T[read : read + count])
            read, stored = read + count, stored + piece.value.type.elements
        return new

    key = ("ordered", weight, tuple((p.value, p.positions.tobytes()) for p in pieces))
    ordered = emitter.constant(key, f"{weight.name}_ordered", columns)
    x = emitter.concat(parts, len(lead))
    rest = (emitter.get(value) for value in node.inputs[2:])
    return emitter.add(node.op, x, ordered, *rest, name=node.output.name)
