"""Recipes of lookups."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Embedding, LookupGroup
from swath.passes.packing.emitter import Emitter
from swath.passes.packing.recipe import Packed, Recipe, Single, column, pack_name


def embedding(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Tables of one width: one lookup group; one table: a single lookup of all ids."""
    op, name = nodes[0].op, pack_name(nodes)
    ids, tables = column(nodes, 1), column(nodes, 0)
    if all(table is tables[0] for table in tables):

        def build_shared(emitter: Emitter, values: tuple[Value, ...]) -> Value:
            return emitter.add(op, values[1], values[0], name=name)

        return Recipe((Packed(ids), Single(tables[0])), build_shared)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        rank = values[0].type.rank
        last = emitter.move_axis(values[0], 0, rank - 1)
        return emitter.move_axis(
            emitter.add(LookupGroup(), last, *values[1:], name=name), rank - 1, 0
        )

    return Recipe((Packed(ids), *map(Single, tables)), build, *_moved(nodes))


def lookup_group(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Groups of one width: one group with the tables of all."""
    name = pack_name(nodes)
    tables = tuple(table for node in nodes for table in node.inputs[1:])

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        count, *lead, each = values[0].type.static_shape
        rank = len(lead) + 2
        last = emitter.move_axis(values[0], 0, rank - 2)
        ids = emitter.reshape(last, (*lead, count * each))
        found = emitter.add(LookupGroup(), ids, *values[1:], name=name)
        width = found.type.static_shape[-1]
        split = emitter.reshape(found, (*lead, count, each, width))
        return emitter.move_axis(split, len(lead), 0)

    return Recipe((Packed(column(nodes, 0)), *map(Single, tables)), build, *_moved(nodes))


def _moved(nodes: Sequence[Node]) -> tuple[int, int]:
    """Elements moved when the members' axis comes behind the ids and back to the front of the
    rows, and the nodes that takes; a single id (of each table) has nothing to move past."""
    first = nodes[0]
    alone = isinstance(first.op, Embedding)
    shape = first.inputs[1 if alone else 0].type.static_shape
    if prod(shape if alone else shape[:-1]) == 1:
        return 0, 1
    return len(nodes) * (prod(shape) + first.output.type.elements), 3
