"""Recipes of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Binary, Linear, MatMul
from swath.passes.packing.emitter import Emitter
from swath.passes.packing.recipe import (
    Operand,
    Packed,
    Recipe,
    Single,
    align,
    column,
    operand,
    pack_name,
)


def linear(nodes: Sequence[Node], graph: Graph) -> Recipe:
    """One weight: one linear on the pack. One x of one row: one wide linear. Else a product."""
    operands = tuple(operand(column(nodes, i)) for i in range(len(nodes[0].inputs)))
    if all(isinstance(taken, Single) for taken in operands[1:]):
        return _same_weight(nodes, operands)
    weights = column(nodes, 1)
    constant = all(graph.constant(w) is not None for w in weights)
    rows = prod(nodes[0].inputs[0].type.static_shape[:-1])
    if isinstance(operands[0], Single) and constant and rows == 1:
        return _wide(nodes, operands)
    return _product(nodes, operands, constant)


def _same_weight(nodes: Sequence[Node], operands: tuple[Operand, ...]) -> Recipe:
    name = pack_name(nodes)

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        return emitter.add(Linear(), *values, name=name)

    return Recipe((Packed(column(nodes, 0)), *operands[1:]), build)


def _wide(nodes: Sequence[Node], operands: tuple[Operand, ...]) -> Recipe:
    """linear(x, [w0; w1; ...]), the result split into the members."""
    weights = column(nodes, 1)
    count, shape = len(nodes), nodes[0].output.type.static_shape
    flat = (count * shape[-1],)
    packed = tuple(Packed(column(nodes, i)) for i in range(2, len(nodes[0].inputs)))

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        x, *biases = values
        weight = emitter.constant(
            ("rows", weights),
            f"{weights[0].name}_x{count}",
            lambda: np.concatenate([emitter.array(w) for w in weights]),
        )
        bias = [emitter.reshape(b, flat) for b in biases]
        wide = emitter.add(Linear(), x, weight, *bias, name=pack_name(nodes))
        split = emitter.reshape(wide, (*shape[:-1], count, shape[-1]))
        return emitter.move_axis(split, len(shape) - 1, 0)

    return Recipe((operands[0], *packed), build)


def _product(nodes: Sequence[Node], operands: tuple[Operand, ...], constant: bool) -> Recipe:
    """x [n, rows, K] @ weight [n, K, N], plus the biases."""
    first, count = nodes[0], len(nodes)
    x_shape, out = first.inputs[0].type.static_shape, first.output.type.static_shape
    rows, weights = prod(x_shape[:-1]), column(nodes, 1)
    biases = tuple(operand(column(nodes, i)) for i in range(2, len(first.inputs)))
    weight_operand = () if constant else (Packed(weights),)

    def transposed(emitter: Emitter, given: tuple[Value, ...]) -> Value:
        if given:
            return emitter.permute(given[0], (0, 2, 1))
        return emitter.constant(
            ("transposed", weights),
            f"{weights[0].name}_x{count}",
            lambda: np.stack([emitter.array(w).T for w in weights]),
        )

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        end = 1 + len(weight_operand)
        lead = (count,) if isinstance(operands[0], Packed) else ()
        x = emitter.reshape(values[0], (*lead, rows, x_shape[-1]))
        weight = transposed(emitter, values[1:end])
        product = emitter.add(MatMul(), x, weight, name=pack_name(nodes))
        result = emitter.reshape(product, (count, *out))
        for bias, taken in zip(values[end:], biases, strict=True):
            aligned = align(emitter, bias, taken, len(out))
            result = emitter.add(Binary("add"), result, aligned, name=pack_name(nodes))
        return result

    return Recipe((operands[0], *weight_operand, *biases), build, nodes=1 + len(biases))


def matmul(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """The same product on packs, the leading axes broadcast from the right."""
    first = nodes[0]
    operands = tuple(operand(column(nodes, i)) for i in range(2))
    rank = first.output.type.rank

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        aligned = [align(emitter, v, o, rank) for v, o in zip(values, operands, strict=True)]
        return emitter.add(MatMul(), *aligned, name=pack_name(nodes))

    return Recipe(operands, build)


def attention(nodes: Sequence[Node], _graph: Graph) -> Recipe:
    """Attention on packs, the operands brought to one rank."""
    first = nodes[0]
    rank = first.output.type.rank
    count = len(first.inputs)
    # Only a mask is broadcast by the op itself.
    operands = tuple(Packed(column(nodes, i)) for i in range(min(count, 3)))
    operands += tuple(operand(column(nodes, i)) for i in range(3, count))

    def build(emitter: Emitter, values: tuple[Value, ...]) -> Value:
        aligned = [align(emitter, v, o, rank) for v, o in zip(values, operands, strict=True)]
        return emitter.add(first.op, *aligned, name=pack_name(nodes))

    return Recipe(operands, build)
