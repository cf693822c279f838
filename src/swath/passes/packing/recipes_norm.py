"""Recipes of normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import BatchNorm, Binary
from swath.passes.packing.emitter import Emitter
from swath.passes.packing.recipe import Packed, Recipe, Single, align, column, operand, pack_name


def batch_norm(nodes: Sequence[Node], graph: Graph) -> Recipe | None:
    """x * scale + shift, with the members' scales and shifts stacked; constant statistics only."""
    op, result = nodes[0].op, nodes[0].output
    if not isinstance(op, BatchNorm):
        raise TypeError(f"{op} is no batch norm")
    parameters = tuple(node.inputs[1:] for node in nodes)
    if any(graph.constant(value) is None for row in parameters for value in row):
        return None
    taken = operand(column(nodes, 0))
    rank = result.type.rank
    shape = (len(nodes), 1, -1, *(1,) * (rank - 2))
    dtype = result.type.dtype.numpy

    def affine_form(row: tuple[Value, ...]) -> tuple[Array, Array]:
        mean, variance, weight, bias = (graph.constants[v.name].astype(np.float64) for v in row)
        scale = weight / np.sqrt(variance + op.epsilon)
        return scale, bias - mean * scale

    def stacked(which: int) -> Array:
        rows = [affine_form(row)[which] for row in parameters]
        return np.stack(rows).reshape(shape).astype(dtype)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        x = align(emitter, values[0], taken, rank)
        key = (op, parameters)
        scale = emitter.constant((*key, 0), f"{result.name}_scale", lambda: stacked(0))
        shift = emitter.constant((*key, 1), f"{result.name}_shift", lambda: stacked(1))
        scaled = emitter.add(Binary("mul"), x, scale, name=pack_name(nodes))
        return emitter.add(Binary("add"), scaled, shift, name=pack_name(nodes))

    return Recipe((taken,), build, nodes=2)


def row_norm(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """LayerNorm and RmsNorm: normalise the pack, then scale and shift by the stacked parameters.

    One set of parameters for all members stays inside of the op.
    """
    first = nodes[0]
    x = Packed(column(nodes, 0))
    parameters = tuple(operand(column(nodes, i)) for i in range(1, len(first.inputs)))
    rank, name = first.output.type.rank, pack_name(nodes)

    def build_shared(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        return emitter.add(first.op, *values, name=name)

    if all(isinstance(parameter, Single) for parameter in parameters):
        return Recipe((x, *parameters), build_shared)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        value = emitter.add(first.op, values[0], name=name)
        for function, extra, taken in zip(("mul", "add"), values[1:], parameters, strict=False):
            value = emitter.add(
                Binary(function), value, align(emitter, extra, taken, rank), name=name
            )
        return value

    return Recipe((x, *parameters), build, nodes=len(first.inputs))
