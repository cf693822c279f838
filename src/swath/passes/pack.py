"""Batch nodes that do the same to other data."""

from __future__ import annotations

from swath.graph.ir import Graph
from swath.graph.ops import Reshape, Slice
from swath.passes.common_subexpressions import common_subexpressions
from swath.passes.packing.plan import plan
from swath.passes.packing.rewrite import rewrite

_MOST_ROUNDS = 4


def pack(graph: Graph) -> Graph:
    """Batch nodes that do the same to other data.

    Models unroll loops over columns, pairs of columns or experts in Python. Where the results come
    together (a concatenation, a long sum), the loop is brought back: the values become one *pack*
    with a leading axis, made by one node from packs of the operands, down to slices of one value,
    constants (stacked) and lookups (grouped).

    Before:
        input %x: f32[1,3] @candidate
        constant %a: f32[4,2] @once
        constant %b: f32[5,2] @once
        constant %c: f32[6,2] @once
        %x0: f32[1,1] @candidate = slice(%x, axis=1, start=0, stop=1)
        %x1: f32[1,1] @candidate = slice(%x, axis=1, start=1, stop=2)
        %x2: f32[1,1] @candidate = slice(%x, axis=1, start=2, stop=3)
        %i0: i64[1,1] @candidate = cast(%x0, dtype=i64)
        %i1: i64[1,1] @candidate = cast(%x1, dtype=i64)
        %i2: i64[1,1] @candidate = cast(%x2, dtype=i64)
        %e0: f32[1,1,2] @candidate = embedding(%a, %i0)
        %e1: f32[1,1,2] @candidate = embedding(%b, %i1)
        %e2: f32[1,1,2] @candidate = embedding(%c, %i2)
        %all: f32[1,1,6] @candidate = concat(%e0, %e1, %e2, axis=2)
        return %all
    After:
        input %x: f32[1,3] @candidate
        constant %a: f32[4,2] @once
        constant %b: f32[5,2] @once
        constant %c: f32[6,2] @once
        %x_2: f32[3,1,1] @candidate = reshape(%x, shape=[3, 1, 1])
        %i0_x3: i64[3,1,1] @candidate = cast(%x_2, dtype=i64)
        %i0_x3_1: i64[1,1,3] @candidate = reshape(%i0_x3, shape=[1, 1, 3])
        %e0_x3: f32[1,1,3,2] @candidate = lookup_group(%i0_x3_1, %a, %b, %c)
        %e0_x3_2: f32[1,1,6] @candidate = reshape(%e0_x3, shape=[1, 1, 6])
        return %e0_x3_2
    """
    graph = common_subexpressions(graph)
    for _ in range(_MOST_ROUNDS):
        packed = rewrite(graph, plan(graph))
        if _size(packed) >= _size(graph):
            break
        graph = packed
    return graph


def _size(graph: Graph) -> int:
    """The number of nodes, four views counted as one."""
    return sum(1 if isinstance(node.op, Reshape | Slice) else 4 for node in graph.nodes)
