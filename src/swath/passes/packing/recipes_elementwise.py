"""Recipes of element-wise ops, and of ops that work along one axis of their only input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import ArgReduce, Cumulative, Gather, Reduce, Softmax
from swath.passes.packing.emitter import Emitter
from swath.passes.packing.recipe import Packed, Recipe, align, column, operand, pack_name


def elementwise(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """The same op on packs, broadcast from the right."""
    first = nodes[0]
    operands = tuple(operand(column(nodes, i)) for i in range(len(first.inputs)))
    rank = first.output.type.rank

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        aligned = [align(emitter, v, o, rank) for v, o in zip(values, operands, strict=True)]
        return emitter.add(first.op, *aligned, name=pack_name(nodes))

    return Recipe(operands, build)


def along_axis(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """The same op on packs, one axis further."""
    first = nodes[0]
    op = first.op
    if isinstance(op, Reduce):
        shifted = replace(op, axes=tuple(axis + 1 for axis in op.axes))
    elif isinstance(op, ArgReduce | Cumulative | Gather | Softmax):
        shifted = replace(op, axis=op.axis + 1)
    else:
        raise TypeError(f"{op} has no axis")
    operands = tuple(Packed(column(nodes, i)) for i in range(len(first.inputs)))

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        return emitter.add(shifted, *values, name=pack_name(nodes))

    return Recipe(operands, build)
