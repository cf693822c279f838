"""Lookups in tables."""

from __future__ import annotations

from swath.graph.ir import Node, Value
from swath.graph.ops import EmbeddingBag
from swath.stages.state import State, describe
from swath.tile.expressions import Expression, reshape
from swath.tile.kernels import Bag, Lookup, LookupEntry
from swath.tile.views import View


def lower_embedding(state: State, node: Node) -> None:
    """One table: a lookup whose ids have a last axis of one."""
    table, ids = node.inputs
    shape = ids.type.static_shape
    expression = state.settled(ids, shape)
    spread = reshape(expression, (*shape, 1))
    if spread is None:
        view = state.view(ids).reshape((*shape, 1))
        assert view is not None, "a new unit axis is always a view"
        spread = reshape(state.settled(ids, shape), (*shape, 1))
        assert spread is not None
    _lookup(state, node, spread, (*shape, 1), ids, (table,))


def lower_lookup_group(state: State, node: Node) -> None:
    """Many tables of one width."""
    ids, *tables = node.inputs
    shape = ids.type.static_shape
    _lookup(state, node, state.settled(ids, shape), shape, ids, tuple(tables))


def _lookup(
    state: State,
    node: Node,
    expression: Expression,
    shape: tuple[int, ...],
    ids: Value,
    tables: tuple[Value, ...],
) -> None:
    target = state.destination(node.output)
    width = node.output.type.static_shape[-1]
    spread = target.reshape((*shape, width))
    if spread is None:
        target = state.scratch(node.output.type.static_shape, node.output.type.dtype, "lookup")
        spread = target.reshape((*shape, width))
        assert spread is not None
    entries = tuple(make_entry(state, table, ids, t) for t, table in enumerate(tables))
    state.kernels.append(Lookup(spread, expression, entries, describe(node.output)))
    state.define(node.output, target)


def make_entry(state: State, table: Value, ids: Value, position: int) -> LookupEntry:
    """The table with its policy; `position` is the element of the last axis of the ids."""
    array = state.graph.constant(table)
    assert array is not None, "the frontend keeps tables constant"
    policy, default_row = state.policies(ids, position)
    entry = LookupEntry(
        state.weights.table(table.name, array),
        array.shape[0],
        policy,
        default_row,
        len(state.entries),
    )
    state.entries.append((entry, ids, position))
    return entry


def lower_embedding_bag(state: State, node: Node) -> None:
    """Pooled rows of one table."""
    assert isinstance(node.op, EmbeddingBag)
    table, ids, offsets, *weights = node.inputs
    target = state.destination(node.output)
    buffers = [_buffer(state, value) for value in (ids, offsets, *weights)]
    state.kernels.append(
        Bag(
            target,
            buffers[0],
            buffers[1],
            buffers[2] if weights else None,
            make_entry(state, table, ids, 0),
            node.op.mode,
            node.op.padding_id,
            describe(node.output),
        )
    )
    state.define(node.output, target)


def _buffer(state: State, value: Value):
    view = state.get(value)
    assert isinstance(view, View), "ragged values reach a bag as they came in"
    return view.buffer
