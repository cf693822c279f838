"""Adds the nodes of a rewritten graph: equal nodes are shared, views are simplified on the way.

Values of the old graph that stay are used as they are; only new values get new names. What
becomes of a value that is replaced is noted in `replaced`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np

from swath.graph.ir import Array, Graph, GraphBuilder, Node, Origin, Value
from swath.graph.ops import Concat, Expand, Permute, Reshape, Slice, Take
from swath.graph.ops.base import Op
from swath.graph.types import DType, Space, TensorType


class Emitter:
    """A graph under construction that takes the place of `graph`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.replaced: dict[Value, Value] = {}
        self._builder = GraphBuilder(inputs=list(graph.inputs))
        for value in (*graph.inputs, *graph.constant_values):
            self._builder.unique(value.name)
        for node in graph.nodes:
            for value in node.outputs:
                self._builder.unique(value.name)
        self._made: dict[tuple[Op, tuple[Value, ...]], Value] = {}
        self._producers: dict[Value, Node] = {}
        self._pool: dict[Hashable, Value] = {}

    def get(self, value: Value) -> Value:
        """What stands for a value of the old graph in the new one."""
        return self.replaced.get(value, value)

    def keep(self, node: Node) -> None:
        """Take a node of the old graph over, with its inputs replaced."""
        inputs = tuple(self.get(value) for value in node.inputs)
        if isinstance(node.op, Reshape):
            inputs = (self._before_reshape(inputs[0]),)
        kept = node if inputs == node.inputs else Node(node.op, inputs, node.outputs)
        if len(node.outputs) == 1 and inputs:
            known = self._made.get((node.op, inputs))
            if known is not None and known.type == node.output.type:
                self.replaced[node.output] = known
                return
            self._made[node.op, inputs] = node.output
        self._append(kept)

    def add(self, op: Op, *inputs: Value, name: str = "", origin: Origin | None = None) -> Value:
        """The value of a new node, or of an equal one that is there."""
        known = self._made.get((op, inputs))
        if known is not None:
            return known
        value = self._builder.add(op, *inputs, name=name, origin=origin or inputs[0].origin)
        self._producers[value] = self._builder.nodes[-1]
        self._made[op, inputs] = value
        return value

    def constant(self, key: Hashable, name: str, make: Callable[[], Array]) -> Value:
        """The constant that `make` gives; made once for a key."""
        if key not in self._pool:
            array = np.ascontiguousarray(make())
            tensor = TensorType(DType.of(array.dtype), array.shape, Space.ONCE)
            self._pool[key] = self._builder.constant(name, array, tensor)
        return self._pool[key]

    def array(self, value: Value) -> Array:
        """The array of a constant of the old graph."""
        return self.graph.constants[value.name]

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        """`value` under another shape; no node if it has it, one node for a chain of them."""
        value = self._before_reshape(value)
        if value.type.shape == shape:
            return value
        return self.add(Reshape(shape), value, name=_base(value.name))

    def permute(self, value: Value, axes: tuple[int, ...]) -> Value:
        """`value` with its axes in another order; a reshape if only axes of size 1 move."""
        producer = self._producers.get(value)
        if producer is not None and isinstance(producer.op, Permute):
            axes = tuple(producer.op.axes[axis] for axis in axes)
            value = producer.inputs[0]
        shape = value.type.static_shape
        wide = [axis for axis in axes if shape[axis] != 1]
        if wide == sorted(wide):
            return self.reshape(value, tuple(shape[axis] for axis in axes))
        return self.add(Permute(axes), value, name=_base(value.name))

    def move_axis(self, value: Value, source: int, target: int) -> Value:
        """`value` with axis `source` at place `target` of the result."""
        axes = [axis for axis in range(value.type.rank) if axis != source]
        axes.insert(target, source)
        return self.permute(value, tuple(axes))

    def take(self, value: Value, axis: int, indices: tuple[int, ...]) -> Value:
        """The elements at `indices` along an axis; a slice, or no node, where that is the same."""
        size = value.type.static_shape[axis]
        run = affine(indices)
        if run is None:
            return self.add(Take(axis, indices), value, name=_base(value.name))
        if run == (0, 1) and len(indices) == size:
            return value
        start, step = run
        return self.add(Slice(axis, start, indices[-1] + 1, step), value, name=_base(value.name))

    def concat(self, parts: tuple[Value, ...], axis: int) -> Value:
        """The parts one behind the other; no node for a single one."""
        if len(parts) == 1:
            return parts[0]
        return self.add(Concat(axis), *parts, name=_base(parts[0].name))

    def expand(self, value: Value, shape: tuple[int, ...]) -> Value:
        """`value` broadcast to a shape."""
        if value.type.shape == shape:
            return value
        return self.add(Expand(shape), value, name=_base(value.name))

    def build(self) -> Graph:
        """The new graph: what its outputs need, ordered so that values die soon."""
        outputs = tuple(self.get(value) for value in self.graph.outputs)
        nodes = _in_order(outputs, self._producers)
        used = {value for node in nodes for value in node.inputs} | set(outputs)
        known = (*self.graph.constant_values, *self._builder.constant_values)
        constants = tuple(value for value in known if value in used)
        arrays = {**self.graph.constants, **self._builder.constants}
        return replace(
            self.graph,
            constant_values=constants,
            constants={value.name: arrays[value.name] for value in constants},
            nodes=nodes,
            outputs=outputs,
        )

    def _before_reshape(self, value: Value) -> Value:
        producer = self._producers.get(value)
        if producer is None or not isinstance(producer.op, Reshape):
            return value
        return producer.inputs[0]

    def _append(self, node: Node) -> None:
        self._builder.nodes.append(node)
        for value in node.outputs:
            self._producers[value] = node


def _base(name: str) -> str:
    """The name of a pack for all views of it: `e0_x26` of `e0_x26_1`."""
    return re.sub(r"(_x\d+)(_\d+)+$", r"\1", name)


def affine(indices: tuple[int, ...]) -> tuple[int, int] | None:
    """Start and (positive) step of evenly spaced indices, else None."""
    count = len(indices)
    if count == 0:
        return None
    start, step = indices[0], indices[1] - indices[0] if count > 1 else 1
    if step < 1 or indices != tuple(range(start, start + step * count, step)):
        return None
    return start, step


def _in_order(outputs: tuple[Value, ...], producers: dict[Value, Node]) -> tuple[Node, ...]:
    """The nodes that the outputs need, each as late as its first reader allows."""
    done: set[Node] = set()
    order: list[Node] = []
    stack = [(producers[value], False) for value in reversed(outputs) if value in producers]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done.add(node)
            order.append(node)
            continue
        stack.append((node, True))
        stack += [
            (producers[value], False)
            for value in reversed(node.inputs)
            if value in producers and producers[value] not in done
        ]
    return tuple(order)
