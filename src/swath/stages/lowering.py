"""A row-form graph -> kernels over swaths of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from swath.errors import InternalError, Problem
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import (
    ArgReduce,
    Binary,
    Cast,
    Concat,
    Convolution,
    Cumulative,
    Embedding,
    EmbeddingBag,
    Expand,
    Fill,
    Gather,
    Index,
    IndexPut,
    Iota,
    Linear,
    LookupGroup,
    MatMul,
    Op,
    Permute,
    Pool,
    Reduce,
    Reshape,
    Scatter,
    Slice,
    Softmax,
    Sort,
    Take,
    TopK,
    Unary,
    Where,
)
from swath.graph.types import RaggedSize, Space
from swath.stages import lower_elementwise as elementwise
from swath.stages import lower_indexing as indexing
from swath.stages import lower_lookup as lookup
from swath.stages import lower_product as product
from swath.stages import lower_reduce as reduce
from swath.stages.destinations import plan_destinations
from swath.stages.lower_convolution import lower_convolution, lower_pool
from swath.stages.state import Deferred, Policies, State, describe
from swath.stages.uses import effective_uses
from swath.tile.views import Buffer, BufferKind, View, whole

LOWERINGS: Mapping[type[Op], Callable[[State, Node], None]] = {
    Unary: elementwise.lower_unary,
    Binary: elementwise.lower_binary,
    Where: elementwise.lower_where,
    Cast: elementwise.lower_cast,
    Reshape: elementwise.lower_reshape,
    Permute: elementwise.lower_permute,
    Slice: elementwise.lower_slice,
    Expand: elementwise.lower_expand,
    Take: elementwise.lower_take,
    Concat: elementwise.lower_concat,
    Fill: elementwise.lower_fill,
    Iota: elementwise.lower_iota,
    Reduce: reduce.lower_reduce,
    Softmax: reduce.lower_softmax,
    Sort: reduce.lower_sort,
    TopK: reduce.lower_topk,
    ArgReduce: reduce.lower_arg_reduce,
    Cumulative: reduce.lower_cumulative,
    Linear: product.lower_linear,
    MatMul: product.lower_matmul,
    Convolution: lower_convolution,
    Pool: lower_pool,
    Embedding: lookup.lower_embedding,
    LookupGroup: lookup.lower_lookup_group,
    EmbeddingBag: lookup.lower_embedding_bag,
    Index: indexing.lower_index,
    Gather: indexing.lower_gather,
    Scatter: indexing.lower_scatter,
    IndexPut: indexing.lower_index_put,
}


def lower(graph: Graph, policies: Policies, with_rows: tuple[bool, ...] | None = None) -> State:
    """Kernels, weights and lookups for a graph in row form.

    `policies(ids, elements)` gives the policy and default row for ids from elements of a value.
    `with_rows` says of each output whether it has one row per row of the call, which a constant may
    have too (`torch.ones(batch, 3)`); without it, those have that aren't `@once`.
    Raises InternalError SW930 for an op that has no lowering (a pass should have rewritten it).
    """
    if with_rows is None:
        with_rows = tuple(value.type.space is not Space.ONCE for value in graph.outputs)
    state = State(graph, effective_uses(graph), plan_destinations(graph), policies, with_rows)
    for index, value in enumerate(graph.inputs):
        state.lowered[value] = _input(index, value)
    for node in graph.nodes:
        lowering = LOWERINGS.get(type(node.op))
        if lowering is None:
            raise InternalError(
                Problem(
                    "SW930",
                    f"`{node.op.name}` reached code generation",
                    f"no lowering is listed for it: {describe(node.outputs[0])}",
                    "Pass developer: add one to LOWERINGS, or a pass that rewrites the op",
                )
            )
        lowering(state, node)
    for index, value in enumerate(graph.outputs):
        _finish_output(state, index, value)
    return state


def _input(index: int, value: Value) -> View:
    shape = value.type.shape
    ragged = any(isinstance(dim, RaggedSize) for dim in shape)
    sizes = tuple(1 if isinstance(dim, RaggedSize) else dim for dim in shape)
    static = tuple(size for size in sizes if isinstance(size, int))
    elements = 1
    for size in static:
        elements *= size
    stride = 0 if ragged or value.type.space is Space.ONCE else -1
    buffer = Buffer(f"input_{index}", BufferKind.INPUT, value.type.dtype, elements, stride, index)
    return whole(buffer, static)


def _finish_output(state: State, index: int, value: Value) -> None:
    """Copy a result to its output unless it was computed there."""
    lowered = state.get(value)
    if isinstance(lowered, View) and lowered.contiguous:
        buffer = lowered.buffer
        if buffer.kind is BufferKind.OUTPUT and buffer.index == index:
            return
    target = whole(state.output_buffer(index, value), value.type.static_shape)
    if isinstance(lowered, Deferred) and lowered.shape != target.shape:
        lowered = state.view(value)
    state.store(lowered, target, f"output {describe(value)}")
