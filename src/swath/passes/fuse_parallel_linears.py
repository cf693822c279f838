"""One wide linear for narrow ones that read the same value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import Linear, Unary
from swath.passes.packing.emitter import Emitter

# A linear of fewer columns doesn't fill the registers that a product of matrices works in, so that
# reading x and looping over it count; wider ones gain nothing from being joined.
NARROW = 64
# Columns are computed in blocks of as many; the last block of each linear is padded.
BLOCK = 16


def fuse_parallel_linears(graph: Graph) -> Graph:
    """Join linears with constant weights that read the same value, and slice the result.

    Only narrow linears and those with a ragged last block of columns are joined. A function that
    follows all of them moves in front of the slices, so that it can still become the epilogue of
    the product.

    Before:
        input %x: f32[1,8] @candidate
        constant %v: f32[3,8] @once
        constant %w: f32[5,8] @once
        %a: f32[1,3] @candidate = linear(%x, %v)
        %b: f32[1,5] @candidate = linear(%x, %w)
        %s: f32[1,3] @candidate = unary(%a, function="sigmoid")
        %t: f32[1,5] @candidate = unary(%b, function="sigmoid")
        return %s, %t
    After:
        input %x: f32[1,8] @candidate
        constant %v_wide: f32[8,8] @once
        %a_wide: f32[1,8] @candidate = linear(%x, %v_wide)
        %s_wide: f32[1,8] @candidate = unary(%a_wide, function="sigmoid")
        %s_wide_1: f32[1,3] @candidate = slice(%s_wide, axis=1, start=0, stop=3)
        %s_wide_2: f32[1,5] @candidate = slice(%s_wide, axis=1, start=3, stop=8)
        return %s_wide_1, %s_wide_2
    """
    families = _families(graph)
    if not families:
        return graph
    emitter = Emitter(graph)
    first = {family.linears[0]: family for family in families}
    joined = {node for family in families for node in (*family.linears, *family.functions)}
    for node in graph.nodes:
        if node in first:
            _join(emitter, first[node])
        elif node not in joined:
            emitter.keep(node)
    return emitter.build()


@dataclass(frozen=True, slots=True)
class _Family:
    """Linears on one value, and the functions that follow them (one for each, or none)."""

    linears: tuple[Node, ...]
    functions: tuple[Node, ...]


def _families(graph: Graph) -> list[_Family]:
    by_input: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        if isinstance(node.op, Linear) and _can_join(node, graph):
            by_input.setdefault(node.inputs[0], []).append(node)
    users = graph.users()
    outputs = set(graph.outputs)
    families: list[_Family] = []
    for linears in by_input.values():
        by_function: dict[Unary | None, list[tuple[Node, Node | None]]] = {}
        for node in linears:
            function = _function_after(node, users, outputs)
            key = function.op if function is not None and isinstance(function.op, Unary) else None
            by_function.setdefault(key, []).append((node, function))
        for pairs in by_function.values():
            if len(pairs) > 1:
                functions = tuple(function for _, function in pairs if function is not None)
                families.append(_Family(tuple(node for node, _ in pairs), functions))
    return families


def _can_join(node: Node, graph: Graph) -> bool:
    if any(graph.constant(value) is None for value in node.inputs[1:]):
        return False
    columns = node.inputs[1].type.static_shape[0]
    return columns < NARROW or columns % BLOCK != 0


def _function_after(node: Node, users: dict[Value, list[Node]], outputs: set[Value]) -> Node | None:
    readers = users.get(node.output, [])
    if len(readers) != 1 or node.output in outputs or not isinstance(readers[0].op, Unary):
        return None
    # isnan and logical_not give another type.
    return readers[0] if readers[0].output.type == node.output.type else None


def _join(emitter: Emitter, family: _Family) -> None:
    linears, functions = family.linears, family.functions
    weights = tuple(node.inputs[1] for node in linears)
    key = ("wide", linears)
    weight = emitter.constant(
        (*key, "weight"),
        f"{weights[0].name}_wide",
        lambda: np.concatenate([emitter.array(value) for value in weights]),
    )
    inputs = [emitter.get(linears[0].inputs[0]), weight]
    biases = [value for node in linears for value in node.inputs[2:]]
    if biases:
        bias = emitter.constant(
            (*key, "bias"),
            f"{biases[0].name}_wide",
            lambda: np.concatenate([_bias(emitter, node) for node in linears]),
        )
        inputs.append(bias)
    wide = emitter.add(Linear(), *inputs, name=f"{linears[0].output.name}_wide")
    if functions:
        wide = emitter.add(functions[0].op, wide, name=f"{functions[0].output.name}_wide")
    start = 0
    for node in functions or linears:
        stop = start + node.output.type.static_shape[-1]
        part = emitter.take(wide, wide.type.rank - 1, tuple(range(start, stop)))
        emitter.replaced[node.output] = part
        start = stop


def _bias(emitter: Emitter, node: Node) -> Array:
    given = node.inputs[2:]
    if given:
        return emitter.array(given[0])
    weight = emitter.array(node.inputs[1])
    return np.zeros(len(weight), weight.dtype)
