"""Which nodes of an exported program reach an output, in-place operations included."""

from __future__ import annotations

import operator
from typing import Any

from torch import fx

from swath.frontends.rules.views import VIEWS


def op_key(target: Any) -> str:
    """The full name of an op: `aten.add.Tensor`; of anything else a readable text."""
    if hasattr(target, "_overloadname"):
        return str(target)
    module = getattr(target, "__module__", "") or ""
    return f"{module}.{getattr(target, '__name__', target)}".removeprefix("_")


def is_in_place(key: str) -> bool:
    """True for ops that write to their first argument."""
    parts = key.split(".")
    if len(parts) < 3:
        return False
    name = parts[1]
    return name.endswith("_") and not name.endswith("__")


def live_nodes(graph: fx.Graph) -> set[fx.Node]:
    """The nodes that an output depends on.

    A node that writes in place counts if anything that shares memory with what it writes is used.
    """
    keys = {node: op_key(node.target) for node in graph.nodes if node.op == "call_function"}
    roots = _roots(graph, keys)
    live: set[fx.Node] = set()
    live_roots: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        writes = is_in_place(keys.get(node, "")) and roots[node] in live_roots
        if node.op != "output" and node not in live and not writes:
            continue
        live.add(node)
        live_roots.add(roots[node])
        for source in node.all_input_nodes:
            live.add(source)
            live_roots.add(roots[source])
    return live


def _roots(graph: fx.Graph, keys: dict[fx.Node, str]) -> dict[fx.Node, fx.Node]:
    """For each node the node whose memory it may share."""
    roots: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        key = keys.get(node, "")
        shares = key in VIEWS or is_in_place(key) or node.target is operator.getitem
        source = node.args[0] if shares and node.args else None
        roots[node] = roots[source] if isinstance(source, fx.Node) else node
    return roots
