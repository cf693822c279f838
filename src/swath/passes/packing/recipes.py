"""The recipe of every op that can be packed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from swath.graph.ir import Graph, Node
from swath.graph.ops import (
    ArgReduce,
    Attention,
    BatchNorm,
    Binary,
    Cast,
    Concat,
    Cumulative,
    Embedding,
    Expand,
    Gather,
    LayerNorm,
    Linear,
    LookupGroup,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    RmsNorm,
    Slice,
    Softmax,
    Take,
    Unary,
    Where,
)
from swath.graph.ops.base import Op
from swath.passes.packing.kinds import Kind, is_part_kind
from swath.passes.packing.recipe import Recipe
from swath.passes.packing.recipes_elementwise import along_axis, elementwise
from swath.passes.packing.recipes_lookup import embedding, lookup_group
from swath.passes.packing.recipes_matrix import attention, linear, matmul
from swath.passes.packing.recipes_norm import batch_norm, row_norm
from swath.passes.packing.recipes_views import concat, expand, parts, view

Cook = Callable[[Sequence[Node], Graph], Recipe | None]

_RECIPES: Mapping[type[Op], Cook] = {
    ArgReduce: along_axis,
    Attention: attention,
    BatchNorm: batch_norm,
    Binary: elementwise,
    Cast: elementwise,
    Concat: concat,
    Cumulative: along_axis,
    Embedding: embedding,
    Expand: expand,
    Gather: along_axis,
    LayerNorm: row_norm,
    Linear: linear,
    LookupGroup: lookup_group,
    MatMul: matmul,
    Permute: view,
    Reduce: along_axis,
    Reshape: view,
    RmsNorm: row_norm,
    Slice: view,
    Softmax: along_axis,
    Take: view,
    Unary: elementwise,
    Where: elementwise,
}


def recipe_of(kind: Kind, nodes: Sequence[Node], graph: Graph) -> Recipe | None:
    """The batched form of nodes of one kind; None if these nodes have none."""
    cook = parts if is_part_kind(kind) else _RECIPES.get(type(nodes[0].op))
    return None if cook is None else cook(nodes, graph)
