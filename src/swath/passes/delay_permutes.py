"""Permutes as late as possible, where they meet others that undo them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import (
    ArgReduce,
    Binary,
    Cast,
    Concat,
    Cumulative,
    Linear,
    Permute,
    Reduce,
    Slice,
    Softmax,
    Take,
    Unary,
    Where,
)
from swath.graph.ops.base import Op
from swath.passes.packing.emitter import Emitter

Axes = tuple[int, ...]


def delay_permutes(graph: Graph) -> Graph:
    """Let ops that don't care for the order of the axes work on what was permuted, and permute
    their results. Done if fewer elements are moved then.

    Before:
        input %x: f32[1,3,4] @candidate
        %a: f32[1,4,3] @candidate = permute(%x, axes=[0, 2, 1])
        %b: f32[1,4,3] @candidate = unary(%a, function="relu")
        %c: f32[1,2,3] @candidate = slice(%b, axis=1, start=0, stop=2)
        %d: f32[1,3,2] @candidate = permute(%c, axes=[0, 2, 1])
        %e: f32[1,4] @candidate = reduce(%b, function="sum", axes=[2], keepdim=false)
        return %d, %e
    After:
        input %x: f32[1,3,4] @candidate
        %b_1: f32[1,3,4] @candidate = unary(%x, function="relu")
        %c_1: f32[1,3,2] @candidate = slice(%b_1, axis=2, start=0, stop=2)
        %e_1: f32[1,4] @candidate = reduce(%b_1, function="sum", axes=[1], keepdim=false)
        return %c_1, %e_1
    """
    if not any(isinstance(node.op, Permute) for node in graph.nodes):
        return graph
    delayed = _Delayer(graph).run()
    return delayed if _moved(delayed) < _moved(graph) else graph


def _moved(graph: Graph) -> int:
    """Elements that permutes move."""
    permutes = [node for node in graph.nodes if isinstance(node.op, Permute)]
    return sum(node.output.type.elements for node in permutes if _is_static(node.output))


@dataclass(frozen=True, slots=True)
class _Pending:
    """The value is `source` with its axes in this order."""

    source: Value
    axes: Axes


class _Delayer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.emitter = Emitter(graph)
        self.pending: dict[Value, _Pending] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            made = self._delay(node)
            if made is not None:
                self.pending[node.output] = made
                continue
            for value in node.inputs:
                self._finish(value)
            self.emitter.keep(node)
        for value in self.graph.outputs:
            self._finish(value)
        return self.emitter.build()

    def _finish(self, value: Value) -> None:
        """Make a value in the order that the graph gives it."""
        waiting = self.pending.get(value)
        if waiting is not None and value not in self.emitter.replaced:
            permuted = self.emitter.permute(waiting.source, waiting.axes)
            self.emitter.replaced[value] = permuted

    def _delay(self, node: Node) -> _Pending | None:
        """The node on sources instead; None if it must be as it is."""
        if len(node.outputs) != 1 or not all(map(_is_static, node.inputs)):
            return None
        if isinstance(node.op, Permute):
            source, axes = self._source(node.inputs[0])
            return _Pending(source, tuple(axes[axis] for axis in node.op.axes))
        if not any(value in self.pending for value in node.inputs):
            return None
        if isinstance(node.op, Binary | Where):
            return self._broadcast(node)
        if isinstance(node.op, Concat):
            return self._concat(node, node.op)
        if isinstance(node.op, Linear):
            return self._linear(node)
        move = _MOVES.get(type(node.op))
        if move is None:
            return None
        source, axes = self._source(node.inputs[0])
        op, result_axes = move(node.op, axes)
        return _Pending(self._add(op, node, source), result_axes)

    def _add(self, op: Op, node: Node, *inputs: Value) -> Value:
        return self.emitter.add(op, *inputs, name=node.output.name, origin=node.origin)

    def _source(self, value: Value) -> tuple[Value, Axes]:
        waiting = self.pending.get(value)
        if waiting is None:
            return self.emitter.get(value), tuple(range(value.type.rank))
        return waiting.source, waiting.axes

    def _broadcast(self, node: Node) -> _Pending | None:
        """Operands that wait in one order, the others brought into it at no cost."""
        rank = node.output.type.rank
        orders = {self.pending[v].axes for v in node.inputs if v in self.pending}
        axes = orders.pop()
        if orders or len(axes) != rank:
            return None
        inverse = _inverse(axes)
        operands: list[Value] = []
        for value in node.inputs:
            if value in self.pending:
                operands.append(self.pending[value].source)
                continue
            operand = self._ordered(value, inverse, rank)
            if operand is None:
                return None
            operands.append(operand)
        return _Pending(self._add(node.op, node, *operands), axes)

    def _ordered(self, value: Value, inverse: Axes, rank: int) -> Value | None:
        """A value in the order of the sources; None if its elements would have to move."""
        shape = (1,) * (rank - value.type.rank) + value.type.static_shape
        if value.type.elements == 1 and value.type.rank < rank:
            return self.emitter.get(value)
        wide = [axis for axis in inverse if shape[axis] != 1]
        if wide != sorted(wide):
            return None
        return self.emitter.reshape(self.emitter.get(value), tuple(shape[i] for i in inverse))

    def _concat(self, node: Node, op: Concat) -> _Pending | None:
        sources = [self._source(value) for value in node.inputs]
        orders = {axes for _, axes in sources}
        axes = orders.pop()
        if orders:
            return None
        moved = replace(op, axis=axes[op.axis])
        return _Pending(self._add(moved, node, *(source for source, _ in sources)), axes)

    def _linear(self, node: Node) -> _Pending | None:
        source, axes = self._source(node.inputs[0])
        if any(value in self.pending for value in node.inputs[1:]) or axes[-1] != len(axes) - 1:
            return None
        rest = (self.emitter.get(value) for value in node.inputs[1:])
        return _Pending(self._add(node.op, node, source, *rest), axes)


def _inverse(axes: Axes) -> Axes:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def _same_axes(op: Op, axes: Axes) -> tuple[Op, Axes]:
    return op, axes


def _one_axis(op: Op, axes: Axes) -> tuple[Op, Axes]:
    if isinstance(op, Cumulative | Slice | Softmax | Take):
        return replace(op, axis=axes[op.axis]), axes
    raise TypeError(f"{op} has no axis")


def _reduced_axes(op: Op, axes: Axes) -> tuple[Op, Axes]:
    if isinstance(op, Reduce):
        gone = tuple(sorted(axes[axis] for axis in op.axes))
        moved: Op = replace(op, axes=gone)
    elif isinstance(op, ArgReduce):
        gone = (axes[op.axis],)
        moved = replace(op, axis=gone[0])
    else:
        raise TypeError(f"{op} reduces nothing")
    if op.keepdim:
        return moved, axes
    kept = [axis for axis in axes if axis not in gone]
    ranks = sorted(kept)
    return moved, tuple(ranks.index(axis) for axis in kept)


_MOVES: Mapping[type[Op], Callable[[Op, Axes], tuple[Op, Axes]]] = {
    ArgReduce: _reduced_axes,
    Cast: _same_axes,
    Cumulative: _one_axis,
    Reduce: _reduced_axes,
    Slice: _one_axis,
    Softmax: _one_axis,
    Take: _one_axis,
    Unary: _same_axes,
}


def _is_static(value: Value) -> bool:
    return all(isinstance(size, int) for size in value.type.shape)
