"""How often each value is read by something that computes."""

from __future__ import annotations

from swath.graph.ir import Graph, Value
from swath.graph.ops import Expand, Permute, Reshape, Slice

VIEW_OPS = (Reshape, Permute, Slice, Expand)


def effective_uses(graph: Graph) -> dict[Value, int]:
    """Reads of each value, counting through ops that are only another view of it."""
    uses = dict.fromkeys((*graph.inputs, *graph.constant_values), 0)
    for node in graph.nodes:
        uses.update(dict.fromkeys(node.outputs, 0))
    for value in graph.outputs:
        uses[value] += 1
    for node in reversed(graph.nodes):
        weight = uses[node.outputs[0]] if isinstance(node.op, VIEW_OPS) else 1
        for value in node.inputs:
            uses[value] += weight
    return uses
