"""Which nodes are the same computation on other data.

Nodes of one *kind* differ in their inputs' values alone, so that one node over stacked inputs can
stand for all of them. The *height* of a value is the longest way to it from an input. Values of
one height never depend on one another, and packs whose members all have one height never form a
cycle; hence a group has one kind and one height.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Embedding, LookupGroup, Slice, Take

Kind = tuple[Hashable, ...]


def heights(graph: Graph) -> dict[Value, int]:
    """The height of every value; inputs and constants have 0."""
    result = dict.fromkeys((*graph.inputs, *graph.constant_values), 0)
    for node in graph.nodes:
        height = 1 + max((result[value] for value in node.inputs), default=0)
        result.update(dict.fromkeys(node.outputs, height))
    return result


def kind_of(node: Node) -> Kind | None:
    """The kind of a node, None if it has several results or a size that the call decides."""
    if len(node.outputs) != 1 or not all(map(is_static, (*node.inputs, *node.outputs))):
        return None
    output = node.output.type
    if isinstance(node.op, Embedding):
        table, ids = node.inputs
        return (Embedding, output, table.type.dtype, _form(ids))
    if isinstance(node.op, LookupGroup):
        ids, *tables = node.inputs
        return (LookupGroup, output, tables[0].type.dtype, _form(ids))
    return (node.op, output, *map(_form, node.inputs))


def part_kind(node: Node) -> Kind | None:
    """The kind of a slice among the slices of the same value at other places, None for others."""
    if not isinstance(node.op, Slice | Take) or not all(map(is_static, node.inputs)):
        return None
    return ("part", node.inputs[0], node.op.axis, node.output.type)


def is_part_kind(kind: Kind) -> bool:
    """Whether `part_kind` made it."""
    return kind[0] == "part"


def group_by_kind(nodes: Iterable[Node]) -> dict[Kind, list[Node]]:
    """The nodes by kind, those that can't be packed left out.

    A slice goes with the other slices of its value, or with equal slices of other values if those
    are more than twice as many: the slices of one value are one pack without any copying.
    """
    kinds = [(node, kind_of(node), part_kind(node)) for node in nodes]
    counts = Counter(kind for _, *pair in kinds for kind in pair if kind is not None)
    groups: dict[Kind, list[Node]] = {}
    for node, kind, part in kinds:
        if kind is not None and part is not None and 2 * counts[part] >= counts[kind]:
            kind = part
        if kind is not None:
            groups.setdefault(kind, []).append(node)
    return groups


def part_indices(node: Node) -> tuple[int, ...]:
    """The positions that a slice or take reads along its axis."""
    op = node.op
    if isinstance(op, Take):
        return op.indices
    if isinstance(op, Slice) and isinstance(op.stop, int):
        return tuple(range(op.start, op.stop, op.step))
    raise TypeError(f"{op} has no constant positions")


def is_static(value: Value) -> bool:
    """Whether the shape is the same in every call."""
    return all(isinstance(size, int) for size in value.type.shape)


def _form(value: Value) -> Hashable:
    """The type without its space: a constant packs with what isn't constant."""
    return (value.type.dtype, value.type.shape)
