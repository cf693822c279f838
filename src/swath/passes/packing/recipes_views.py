"""Recipes of ops that only rearrange elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Concat, Permute, Slice, Take
from swath.passes.packing.emitter import Emitter, affine
from swath.passes.packing.kinds import part_indices
from swath.passes.packing.recipe import Packed, Recipe, Single, column


def view(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Reshape, permute, slice, take, expand: the same on the pack, the first axis left alone."""
    op, result = nodes[0].op, nodes[0].output
    shape = (len(nodes), *result.type.static_shape)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        (x,) = values
        if isinstance(op, Permute):
            return emitter.permute(x, (0, *(axis + 1 for axis in op.axes)))
        if isinstance(op, Slice | Take):
            return emitter.take(x, op.axis + 1, part_indices(nodes[0]))
        return emitter.reshape(x, shape)

    return Recipe((Packed(column(nodes, 0)),), build)


def expand(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Expand of the pack, with axes of size 1 for those that the members gain."""
    shape = (len(nodes), *nodes[0].output.type.static_shape)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        count, *sizes = values[0].type.static_shape
        gained = len(shape) - 1 - len(sizes)
        return emitter.expand(emitter.reshape(values[0], (count, *(1,) * gained, *sizes)), shape)

    return Recipe((Packed(column(nodes, 0)),), build)


def parts(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Slices of one value at different places: one take, with the axis of the members in front."""
    op = nodes[0].op
    if not isinstance(op, Slice | Take):
        raise TypeError(f"{op} is no slice")
    axis, result = op.axis, nodes[0].output.type
    length = result.static_shape[axis]
    indices = tuple(index for node in nodes for index in part_indices(node))
    taken_apart = affine(indices) is None
    moved = any(size != 1 for size in result.static_shape[:axis])

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        taken = emitter.take(values[0], axis, indices)
        sizes = taken.type.static_shape
        split = emitter.reshape(taken, (*sizes[:axis], len(nodes), length, *sizes[axis + 1 :]))
        return emitter.move_axis(split, axis, 0)

    copies = len(nodes) * result.elements * (taken_apart + moved)
    return Recipe((Single(nodes[0].inputs[0]),), build, copies, taken_apart + moved)


def concat(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Concatenations: one pack of all parts, the members' axis split off in front.

    Parts of different types are packed by position instead.
    """
    op = nodes[0].op
    if not isinstance(op, Concat):
        raise TypeError(f"{op} is no concat")
    if len({part.type.shape for part in nodes[0].inputs}) > 1:
        return _concat_by_position(nodes)
    result = nodes[0].output
    shape = (len(nodes), *result.type.static_shape)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        count, *sizes = values[0].type.static_shape
        split = emitter.reshape(values[0], (len(nodes), count // len(nodes), *sizes))
        return emitter.reshape(emitter.move_axis(split, 1, op.axis + 1), shape)

    return Recipe((Packed(tuple(part for node in nodes for part in node.inputs)),), build)


def _concat_by_position(nodes: Sequence[Node]) -> Recipe:
    op = nodes[0].op
    if not isinstance(op, Concat):
        raise TypeError(f"{op} is no concat")
    shifted = replace(op, axis=op.axis + 1)
    operands = tuple(Packed(column(nodes, i)) for i in range(len(nodes[0].inputs)))

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        return emitter.concat(values, shifted.axis)

    return Recipe(operands, build)
