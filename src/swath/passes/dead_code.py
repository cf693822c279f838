"""Removes what no output needs."""

from __future__ import annotations

from swath.graph.ir import Graph, Node, Value


def dead_code(graph: Graph) -> Graph:
    """Remove nodes and constants that no output of the graph needs; inputs stay.

    Before:
        input %x: f32[1,4] @candidate
        constant %unused: f32[4] @once
        %a: f32[1,4] @candidate = unary(%x, function="exp")
        %b: f32[1,4] @candidate = binary(%a, %unused, function="add")
        %c: f32[1,4] @candidate = unary(%x, function="tanh")
        return %c
    After:
        input %x: f32[1,4] @candidate
        %c: f32[1,4] @candidate = unary(%x, function="tanh")
        return %c
    """
    needed: set[Value] = set(graph.outputs)
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    constants = tuple(value for value in graph.constant_values if value in needed)
    return Graph(
        graph.inputs,
        constants,
        {value.name: graph.constants[value.name] for value in constants},
        tuple(reversed(nodes)),
        graph.outputs,
    )
