"""Lookups in tables."""

from __future__ import annotations

from swath.graph.ir import Node, Value
from swath.graph.ops import EmbeddingBag, Index
from swath.stages.lower_indexing import lower_index
from swath.stages.state import State, describe
from swath.tile.expressions import Expression, Load, reshape
from swath.tile.kernels import Bag, Lookup, LookupEntry
from swath.tile.views import View

UNDECLARED = ("error", 0)


def lower_embedding(state: State, node: Node) -> None:
    """One table: a lookup whose ids have a last axis of one. The table counts as several where
    ids from several inputs go by different policies."""
    table, ids = node.inputs
    if state.graph.constant(table) is None:  # computed, or an input: its rows are read in place
        lower_index(state, Node(Index((0,)), node.inputs, node.outputs))
        return
    shape = ids.type.static_shape
    apart = _policies_differ(state, ids)
    spread = (1, ids.type.elements) if apart else (*shape, 1)
    expression = reshape(state.settled(ids, shape), spread)
    if expression is None:
        view = state.view(ids).reshape(spread)
        if view is None:
            copy = state.scratch(shape, ids.type.dtype, "ids")
            state.store(state.view(ids), copy, f"ids {describe(ids)}")
            view = copy.reshape(spread)
        assert view is not None, "a contiguous copy always reshapes"
        expression = Load(view)
    _lookup(state, node, expression, spread, ids, (table,) * spread[-1])


def _policies_differ(state: State, ids: Value) -> bool:
    count = ids.type.elements
    if count < 2 or state.policies(ids, slice(None)) is not None:
        return False
    each = {state.policies(ids, slice(place, None, count)) for place in range(count)}
    return len({policy or UNDECLARED for policy in each}) > 1


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
    entries = tuple(
        make_entry(state, table, ids, slice(place, None, len(tables)))
        for place, table in enumerate(tables)
    )
    state.kernels.append(Lookup(spread, expression, entries, describe(node.output)))
    state.define(node.output, target)


def make_entry(state: State, table: Value, ids: Value, elements: slice) -> LookupEntry:
    """The table with its policy; `elements` (flat) of the ids are looked up in it."""
    array = state.graph.constant(table)
    assert array is not None, "the frontend keeps tables constant"
    policy, default_row = state.policies(ids, elements) or UNDECLARED
    entry = LookupEntry(
        state.weights.table(table.name, array),
        array.shape[0],
        policy,
        default_row,
        len(state.entries),
    )
    state.entries.append((entry, ids, elements))
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
            make_entry(state, table, ids, slice(None)),
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
