"""Element-wise ops and views become expressions and strides, and cost nothing by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from swath.graph.ir import Node
from swath.graph.ops import Binary, Cast, Concat, Permute, Slice, Take, Unary
from swath.graph.ops.create import Fill, Iota
from swath.stages.state import Deferred, Lowered, State, describe
from swath.tile.expressions import (
    Apply,
    Expression,
    Scalar,
    has_result,
    is_expensive,
    map_views,
    reshape,
    walk,
)
from swath.tile.kernels import Rearrange
from swath.tile.views import View

LONGEST_EXPRESSION = 64  # nodes; longer ones are stored, or a chain of them would grow squared


def lower_unary(state: State, node: Node) -> None:
    """function(x)."""
    _apply(state, node, cast(Unary, node.op).function)


def lower_binary(state: State, node: Node) -> None:
    """function(a, b)."""
    _apply(state, node, cast(Binary, node.op).function)


def lower_where(state: State, node: Node) -> None:
    """condition ? a : b."""
    _apply(state, node, "where")


def lower_cast(state: State, node: Node) -> None:
    """The same elements in another type."""
    assert isinstance(node.op, Cast)
    if node.inputs[0].type.dtype == node.op.dtype:
        state.define(node.output, state.get(node.inputs[0]))
    else:
        _apply(state, node, "cast")


def _apply(state: State, node: Node, function: str) -> None:
    shape = node.output.type.static_shape
    operands = [state.expression(value, shape) for value in node.inputs]
    waiting = [i for i, operand in enumerate(operands) if operand.pending is not None]
    # one result can be finished on the way; the last one, since the others come before it
    for index in waiting[:-1]:
        state.view(node.inputs[index])
    pending = operands[waiting[-1]].pending if waiting else None
    arguments: list[Expression] = []
    for index, value in enumerate(node.inputs):
        fused = pending is not None and index == waiting[-1]
        fresh = state.expression(value, shape)
        if fused and fresh.pending is None:  # the same value was stored for another operand
            pending = None
        arguments.append(fresh.expression)
    expression = Apply(function, tuple(arguments), node.output.type.dtype)
    state.define(node.output, Deferred(shape, expression, pending))
    if sum(1 for _ in walk(expression)) > LONGEST_EXPRESSION:
        state.view(node.output)


def lower_reshape(state: State, node: Node) -> None:
    """Free where strides can say it."""
    shape = node.output.type.static_shape
    lowered = state.get(node.inputs[0])
    if isinstance(lowered, Deferred):
        same = [size for size in lowered.shape if size != 1] == [s for s in shape if s != 1]
        if same or lowered.pending is None:
            expression = reshape(lowered.expression, shape)
            if expression is not None:
                state.define(node.output, Deferred(shape, expression, lowered.pending))
                return
    view = state.view(node.inputs[0])
    reshaped = view.reshape(shape)
    if reshaped is None:
        copy = state.scratch(view.shape, view.buffer.dtype, "copy")
        state.store(view, copy, f"contiguous {describe(node.inputs[0])}")
        reshaped = copy.reshape(shape)
        assert reshaped is not None
    state.define(node.output, reshaped)


def lower_permute(state: State, node: Node) -> None:
    """Other strides."""
    assert isinstance(node.op, Permute)
    axes = node.op.axes
    _view_op(state, node, lambda view: view.permute(axes))


def lower_slice(state: State, node: Node) -> None:
    """Another offset and size."""
    op = node.op
    assert isinstance(op, Slice)
    assert isinstance(op.stop, int)
    stop = op.stop
    _view_op(state, node, lambda view: view.slice(op.axis, op.start, stop, op.step))


def lower_expand(state: State, node: Node) -> None:
    """Strides of zero; what is dear to compute is stored first."""
    shape = node.output.type.static_shape
    lowered = state.get(node.inputs[0])
    if isinstance(lowered, Deferred) and is_expensive(lowered.expression):
        state.view(node.inputs[0])
    _view_op(state, node, lambda view: view.expand(shape))


def _view_op(state: State, node: Node, change: Callable[[View], View]) -> None:
    lowered = state.get(node.inputs[0])
    result: Lowered
    if isinstance(lowered, Deferred) and has_result(lowered.expression):
        lowered = state.view(node.inputs[0])
    if isinstance(lowered, Deferred):
        shape = node.output.type.static_shape
        result = Deferred(shape, map_views(lowered.expression, change))
    else:
        result = change(lowered)
    state.define(node.output, result)


def lower_take(state: State, node: Node) -> None:
    """A slice where the positions are evenly spaced, else a copy."""
    assert isinstance(node.op, Take)
    axis, indices = node.op.axis, node.op.indices
    steps = set(np.diff(indices).tolist())
    view = state.view(node.inputs[0])
    if len(steps) <= 1 and (not steps or min(steps) > 0):
        step = steps.pop() if steps else 1
        state.define(node.output, view.slice(axis, indices[0], indices[-1] + 1, step))
        return
    target = state.destination(node.output)
    state.kernels.append(Rearrange(target, view, axis, indices, describe(node.output)))
    state.define(node.output, target)


def lower_concat(state: State, node: Node) -> None:
    """Parts that were stored in place already cost nothing."""
    assert isinstance(node.op, Concat)
    whole = state.destination(node.output)
    start = 0
    for value in node.inputs:
        size = value.type.static_shape[node.op.axis]
        part = whole.slice(node.op.axis, start, start + size)
        start += size
        lowered = state.get(value)
        if isinstance(lowered, View) and lowered.reshape(part.shape) == part:
            continue
        if size and not _same_elements(lowered, part):
            state.store(lowered, part, f"part of {describe(node.output)}")
    state.define(node.output, whole)


def _same_elements(lowered: Lowered, part: View) -> bool:
    """True if a view lies where the part is, whatever the strides of its unit axes."""
    if not isinstance(lowered, View):
        return False

    def key(view: View) -> object:
        axes = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
        return (view.buffer, view.offset, axes)

    return key(lowered) == key(part)


def lower_fill(state: State, node: Node) -> None:
    """One number."""
    assert isinstance(node.op, Fill)
    shape = node.output.type.static_shape
    state.define(node.output, Deferred(shape, Scalar(float(node.op.value), node.op.dtype)))


def lower_iota(state: State, node: Node) -> None:
    """A constant."""
    op = node.op
    assert isinstance(op, Iota)
    assert isinstance(op.length, int)
    array = (op.start + op.step * np.arange(op.length)).astype(op.dtype.numpy)
    state.define(node.output, View(state.weights.add(array), 0, (op.length,), (1,)))
