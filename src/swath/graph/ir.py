"""The graph IR: values, nodes, graphs. Everything is frozen; a pass builds a new graph.

    Graph  = inputs, constants, nodes in topological order, outputs
    Node   = op (frozen dataclass with the attributes), input values, output values
    Value  = name unique in the graph, type, origin in the user's model

A value is compared by identity. Constants are values too: `Graph.constants` holds their arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.graph.ops.base import Op
from swath.graph.types import Space, TensorType

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from in the user's model; empty strings where unknown."""

    module: str = ""
    file: str = ""
    line: int = 0
    source: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else ""
        return f"{self.module} ({place})" if place else self.module


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One tensor of the graph."""

    name: str
    type: TensorType
    origin: Origin | None = None

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One application of an op."""

    op: Op
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def output(self) -> Value:
        """The only output; ValueError if there are several."""
        (value,) = self.outputs
        return value

    @property
    def origin(self) -> Origin | None:
        """Where the node comes from in the user's model."""
        return self.outputs[0].origin


@dataclass(frozen=True, slots=True)
class Graph:
    """A program over tensors.

    `constants` maps the names of constant values to their arrays; `constant_values` lists those
    values. Inputs are in the order of the flattened arguments of the model.
    """

    inputs: tuple[Value, ...]
    constant_values: tuple[Value, ...]
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]

    def producers(self) -> dict[Value, Node]:
        """The node that makes each value."""
        return {value: node for node in self.nodes for value in node.outputs}

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that read each value (a node once, however often it reads it)."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                users.setdefault(value, []).append(node)
        return users

    def constant(self, value: Value) -> Array | None:
        """The array of a constant value, None for any other."""
        return self.constants.get(value.name)


@dataclass(slots=True)
class GraphBuilder:
    """Builds a graph node by node; names are made unique, types are inferred by the op.

    In row form the result of an op without inputs is @once.
    """

    inputs: list[Value] = field(default_factory=list[Value])
    constant_values: list[Value] = field(default_factory=list[Value])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    nodes: list[Node] = field(default_factory=list[Node])
    row_form: bool = False
    _names: set[str] = field(default_factory=set[str])
    _counters: dict[str, int] = field(default_factory=dict[str, int])

    def unique(self, name: str) -> str:
        """`name`, with a number behind it where it is taken."""
        if name not in self._names:
            self._names.add(name)
            return name
        while True:
            self._counters[name] = self._counters.get(name, 0) + 1
            candidate = f"{name}_{self._counters[name]}"
            if candidate not in self._names:
                self._names.add(candidate)
                return candidate

    def input(self, name: str, type: TensorType, origin: Origin | None = None) -> Value:
        """Add an input."""
        value = Value(self.unique(name), type, origin)
        self.inputs.append(value)
        return value

    def constant(
        self, name: str, array: Array, type: TensorType, origin: Origin | None = None
    ) -> Value:
        """Add a constant with its array."""
        value = Value(self.unique(name), type, origin)
        self.constant_values.append(value)
        self.constants[value.name] = np.asarray(array)
        return value

    def keep(self, value: Value, graph: Graph) -> Value:
        """Take an input or constant of another graph over, under the same name if it is free."""
        array = graph.constant(value)
        if array is None:
            return self.input(value.name, value.type, value.origin)
        return self.constant(value.name, array, value.type, value.origin)

    def add(self, op: Op, *inputs: Value, name: str = "", origin: Origin | None = None) -> Value:
        """Add a node with one output and return it."""
        (output,) = self.add_node(op, inputs, names=(name,) if name else (), origin=origin)
        return output

    def add_node(
        self,
        op: Op,
        inputs: Iterable[Value],
        *,
        names: tuple[str, ...] = (),
        origin: Origin | None = None,
    ) -> tuple[Value, ...]:
        """Add a node; its output types are inferred. Raises ShapeError if the inputs don't fit."""
        inputs = tuple(inputs)
        types = op.result_types(tuple(value.type for value in inputs))
        if self.row_form and not inputs:
            types = tuple(type.with_space(Space.ONCE) for type in types)
        outputs = tuple(
            Value(self.unique(names[i] if i < len(names) else op.name), type, origin)
            for i, type in enumerate(types)
        )
        self.nodes.append(Node(op, inputs, outputs))
        return outputs

    def build(self, outputs: Iterable[Value]) -> Graph:
        """The finished graph."""
        return Graph(
            tuple(self.inputs),
            tuple(self.constant_values),
            dict(self.constants),
            tuple(self.nodes),
            tuple(outputs),
        )
