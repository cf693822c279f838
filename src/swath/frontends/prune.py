"""Drops what reaches no output from a graph; inputs stay, they are part of the signature."""

from __future__ import annotations

from swath.graph.ir import Graph, Node, Value


def pruned(graph: Graph) -> Graph:
    """The graph without unused nodes and constants."""
    used: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(value in used for value in node.outputs):
            kept.append(node)
            used.update(node.inputs)
    values = tuple(value for value in graph.constant_values if value in used)
    constants = {value.name: graph.constants[value.name] for value in values}
    return Graph(graph.inputs, values, constants, tuple(reversed(kept)), graph.outputs)
