"""Computes equal things once."""

from __future__ import annotations

from collections.abc import Hashable

from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import Binary

# Larger constants are compared by where they are stored instead of by their bytes.
_MOST_BYTES_COMPARED = 1 << 20
_COMMUTATIVE = frozenset(
    {"add", "mul", "minimum", "maximum", "eq", "ne"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"}
)


def common_subexpressions(graph: Graph) -> Graph:
    """Let one node stand for all with the same op and inputs, and one constant for all that are
    equal bit for bit. Operands of commutative functions may be swapped.

    Before:
        input %x: f32[1,4] @candidate
        constant %one: f32[] @once = 1.0
        constant %uno: f32[] @once = 1.0
        %a: f32[1,4] @candidate = binary(%x, %one, function="add")
        %b: f32[1,4] @candidate = binary(%uno, %x, function="add")
        %c: f32[1,4] @candidate = binary(%a, %b, function="mul")
        return %c
    After:
        input %x: f32[1,4] @candidate
        constant %one: f32[] @once = 1.0
        %a: f32[1,4] @candidate = binary(%x, %one, function="add")
        %c: f32[1,4] @candidate = binary(%a, %a, function="mul")
        return %c
    """
    stand_ins, constant_values = _merge_constants(graph)
    made: dict[Hashable, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(stand_ins.get(value, value) for value in node.inputs)
        changed = node if inputs == node.inputs else Node(node.op, inputs, node.outputs)
        first = made.setdefault(_key(changed), changed)
        if first is changed:
            nodes.append(changed)
        else:
            stand_ins.update(zip(node.outputs, first.outputs, strict=True))
    return Graph(
        graph.inputs,
        tuple(constant_values),
        {value.name: graph.constants[value.name] for value in constant_values},
        tuple(nodes),
        tuple(stand_ins.get(value, value) for value in graph.outputs),
    )


def _key(node: Node) -> Hashable:
    inputs = [id(value) for value in node.inputs]
    if isinstance(node.op, Binary) and node.op.function in _COMMUTATIVE:
        inputs.sort()
    # The text tells 0.0 from -0.0 and 1 from True; equality does not.
    return repr(node.op), tuple(inputs)


def _merge_constants(graph: Graph) -> tuple[dict[Value, Value], list[Value]]:
    stand_ins: dict[Value, Value] = {}
    kept: dict[Hashable, Value] = {}
    for value in graph.constant_values:
        first = kept.setdefault(_content(value, graph.constants[value.name]), value)
        if first is not value:
            stand_ins[value] = first
    return stand_ins, list(kept.values())


def _content(value: Value, array: Array) -> Hashable:
    if array.nbytes <= _MOST_BYTES_COMPARED:
        return value.type, array.tobytes()
    address: int = array.__array_interface__["data"][0]
    return value.type, address, array.strides
