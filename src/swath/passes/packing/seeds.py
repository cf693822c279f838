"""Where many values come together, so that it pays to make them as one pack.

1. the parts of a concatenation
2. the terms of a chain of additions (products, minima, maxima)
3. lookups of one width
4. the outputs of the graph
"""

from __future__ import annotations

from dataclasses import dataclass

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Binary, Concat, Embedding, LookupGroup

# What a chain of each function is when its terms are the elements along an axis.
_REDUCTIONS = {"add": "sum", "mul": "prod", "minimum": "min", "maximum": "max"}


@dataclass(frozen=True, slots=True)
class Chain:
    """`f(f(f(a, b), c), d)`: the last node, all nodes, the terms from left to right, and what
    reduction of the terms it is."""

    last: Node
    nodes: tuple[Node, ...]
    terms: tuple[Value, ...]
    reduction: str


def chains(graph: Graph) -> dict[Value, Chain]:
    """The chains of three or more terms, by their result."""
    users = graph.users()
    kept = set(graph.outputs)
    links = {node.output: node for node in graph.nodes if _is_link(node)}
    inner = {
        value
        for value, node in links.items()
        if value not in kept and _only_feeds(node, users.get(value, []))
    }
    found: dict[Value, Chain] = {}
    for value, node in links.items():
        if value not in inner and isinstance(node.op, Binary):
            nodes, terms = _unrolled(node, links, inner)
            if len(terms) > 2:
                found[value] = Chain(node, nodes, terms, _REDUCTIONS[node.op.function])
    return found


def seeds(graph: Graph, long_chains: dict[Value, Chain]) -> tuple[list[Value], list[Value]]:
    """Values to pack if possible: first those that are needed as packs, then all others."""
    together: list[Value] = []
    lookups: list[Value] = []
    for node in graph.nodes:
        if isinstance(node.op, Concat):
            together += node.inputs
        elif isinstance(node.op, Embedding | LookupGroup):
            lookups += node.outputs
    for chain in long_chains.values():
        together += [term for term in chain.terms if term.type == chain.last.output.type]
    return together, [*lookups, *graph.outputs]


def _is_link(node: Node) -> bool:
    return isinstance(node.op, Binary) and node.op.function in _REDUCTIONS


def _only_feeds(node: Node, users: list[Node]) -> bool:
    """Whether the node's result is one operand of one node of the same function and type."""
    if len(users) != 1:
        return False
    (user,) = users
    once = user.inputs.count(node.output) == 1
    return once and user.op == node.op and user.output.type == node.output.type


def _unrolled(
    last: Node, links: dict[Value, Node], inner: set[Value]
) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
    nodes = [last]
    terms: list[Value] = []
    stack = list(reversed(last.inputs))
    while stack:
        value = stack.pop()
        if value in inner:
            nodes.append(links[value])
            stack += reversed(links[value].inputs)
        else:
            terms.append(value)
    return tuple(nodes), tuple(terms)
