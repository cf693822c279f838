"""Puts the bodies of `torch.no_grad()` and autocast blocks back in line.

torch.export keeps such a block as a call of a submodule. What it computes is the same in a compiled
program (of autocast blocks the element types tell), so that the importer sees one flat graph.
"""

from __future__ import annotations

import operator
from typing import Any, cast

from torch import fx, nn
from torch.fx.node import map_arg

# The position among the arguments at which the submodule stands; the block's inputs follow it.
_BLOCKS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
# What each node became: a node of the flat graph, or the tuple that a block returns.
Copies = dict[fx.Node, Any]


def block_position(node: fx.Node) -> int | None:
    """Where a call of a block has its submodule; None for any other node."""
    name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
    return _BLOCKS.get(name)


def flat_graph(module: fx.GraphModule) -> fx.Graph:
    """The graph with all blocks in line; the graph itself if it has none."""
    if all(block_position(node) is None for node in module.graph.nodes):
        return module.graph
    graph = fx.Graph()
    copies: Copies = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            copies[node] = _copy(graph, node, copies)
    outputs = _copy_body(graph, module, module.graph, copies)
    (last,) = [node for node in module.graph.nodes if node.op == "output"]
    graph.output(outputs).meta.update(last.meta)
    return graph


def _copy_body(graph: fx.Graph, owner: nn.Module, body: fx.Graph, copies: Copies) -> Any:
    """Copy the nodes between placeholders and output; what the output node returns."""
    for node in body.nodes:
        position = block_position(node)
        if node.op == "placeholder":
            continue
        if node.op == "output":
            return map_arg(node.args[0], copies.__getitem__)
        if position is not None:
            copies[node] = _copy_block(graph, owner, node, position, copies)
        elif node.target is operator.getitem and isinstance(copies.get(node.args[0]), tuple):
            copies[node] = copies[node.args[0]][node.args[1]]
        else:
            copies[node] = _copy(graph, node, copies)
    return ()


def _copy_block(
    graph: fx.Graph, owner: nn.Module, node: fx.Node, position: int, copies: Copies
) -> tuple[Any, ...]:
    call = cast("fx.Node", node.args[position])
    block = cast("fx.GraphModule", owner.get_submodule(str(call.target)))
    inner: Copies = {}
    inputs = [n for n in block.graph.nodes if n.op == "placeholder"]
    for placeholder, argument in zip(inputs, node.args[position + 1 :], strict=True):
        inner[placeholder] = copies[argument] if isinstance(argument, fx.Node) else argument
    outputs = _copy_body(graph, block, block.graph, inner)
    return tuple(outputs)


def _copy(graph: fx.Graph, node: fx.Node, copies: Copies) -> fx.Node:
    return graph.node_copy(node, lambda n: copies[n])
