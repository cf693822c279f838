"""Cleans up what frontends and other passes leave."""

from __future__ import annotations

from swath.graph.ir import Graph
from swath.passes.rewriter import rewrite
from swath.passes.rules import SIMPLIFY_RULES


def simplify(graph: Graph) -> Graph:
    """Remove and join casts, views, concats, slices, expands, reductions and arithmetic that do
    nothing or can be said shorter. The rules, each with its own before and after, are in
    swath/passes/rules.

    Before:
        input %x: f32[1,8] @candidate
        constant %one: f32[] @once = 1.0
        %a: f32[1,4] @candidate = slice(%x, axis=1, start=0, stop=4)
        %b: f32[1,4] @candidate = slice(%x, axis=1, start=4, stop=8)
        %c: f32[1,4] @candidate = binary(%a, %one, function="mul")
        %d: f32[1,8] @candidate = concat(%c, %b, axis=1)
        %e: f32[1,8] @candidate = unary(%d, function="relu")
        return %e
    After:
        input %x: f32[1,8] @candidate
        %e: f32[1,8] @candidate = unary(%x, function="relu")
        return %e
    """
    return rewrite(graph, SIMPLIFY_RULES)
