"""Debatching: from a batched graph to its row form.

    %x: f32[B,26,16]                                 %x: f32[1,26,16] @candidate
    %flat: f32[26B,16] = reshape(%x)          ->     %flat: f32[26,16] @candidate = reshape(%x)

The row form is the model at batch 1 together with the proof that no row depends on another:

1  nodes that no output needs are dropped (they may mix rows: losses often do)
2  one forward sweep finds where the batch sits in every value, by the row rules of the ops
3  every type is checked against what the sweep found
4  the graph is rebuilt at batch 1; a value lives in the space of its inputs, constants @once,
   inputs with a batch axis @candidate, ragged inputs @position

A value with a batch axis that is the same in all rows (zeros of the batch's size) is @once after
that, and row numbers are the zeros of row 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from swath.errors import UnsupportedModel
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops.base import Rows
from swath.graph.types import BatchSize, Dim, RaggedSize, Space, TensorType
from swath.rows.layout import find_rows
from swath.rows.problems import layout_defect


@dataclass(frozen=True, slots=True)
class Debatched:
    """A graph in row form, and where the batch sat in its inputs and outputs.

    None stands for an input or output without a batch axis, ragged values among them.
    """

    graph: Graph
    input_rows: Rows
    output_rows: Rows


def debatch(graph: Graph) -> Debatched:
    """The row form of a batched graph.

    Raises UnsupportedModel with a problem for each place at which the model mixes rows, and
    InternalError if a row rule and a shape rule of swath disagree.
    """
    live = live_nodes(graph)
    found = find_rows(graph, live)
    if found.problems:
        raise UnsupportedModel(found.problems)
    return Debatched(
        _at_one_row(graph, live),
        tuple(None if is_ragged(value.type) else found.rows[value] for value in graph.inputs),
        tuple(found.rows[value] for value in graph.outputs),
    )


def live_nodes(graph: Graph) -> tuple[Node, ...]:
    """The nodes that an output needs, in order."""
    needed = set(graph.outputs)
    live: list[Node] = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            live.append(node)
    return tuple(reversed(live))


def _at_one_row(graph: Graph, nodes: tuple[Node, ...]) -> Graph:
    bound: dict[Value, Value] = {}
    for value in graph.inputs:
        bound[value] = Value(value.name, _bound_type(value.type), value.origin)
    used = {value for node in nodes for value in node.inputs} | set(graph.outputs)
    constants = tuple(value for value in graph.constant_values if value in used)
    for value in constants:
        bound[value] = Value(value.name, value.type.with_space(Space.ONCE), value.origin)
    rebuilt = tuple(_rebuilt(node, bound) for node in nodes)
    return Graph(
        tuple(bound[value] for value in graph.inputs),
        tuple(bound[value] for value in constants),
        {value.name: graph.constants[value.name] for value in constants},
        rebuilt,
        tuple(bound[value] for value in graph.outputs),
    )


def _rebuilt(node: Node, bound: dict[Value, Value]) -> Node:
    op = node.op.bind(1)
    inputs = tuple(bound[value] for value in node.inputs)
    types = op.result_types(tuple(value.type for value in inputs))
    outputs: list[Value] = []
    for value, type in zip(node.outputs, types, strict=True):
        # Without inputs there is no space to inherit.
        placed = type.with_space(type.space or Space.ONCE)
        if placed.with_space(None) != _bound_type(value.type).with_space(None):
            raise layout_defect(node, value, f"becomes {placed} at one row")
        bound[value] = Value(value.name, placed, value.origin)
        outputs.append(bound[value])
    return Node(op, inputs, tuple(outputs))


def _bound_type(type: TensorType) -> TensorType:
    """The type of an input or result at one row; the space is right for inputs only."""
    return type.with_shape(tuple(map(_bound_dim, type.shape))).with_space(_space(type))


def _space(type: TensorType) -> Space:
    if is_ragged(type):
        return Space.POSITION
    return Space.CANDIDATE if type.has_batch else Space.ONCE


def is_ragged(type: TensorType) -> bool:
    """True for the values of a ragged input and what follows from them."""
    return any(isinstance(dim, RaggedSize) for dim in type.shape)


def _bound_dim(dim: Dim) -> Dim:
    # The end of the last bag is not part of a row: a row reads its own offset and the next.
    return dim.multiple if isinstance(dim, BatchSize) else dim
