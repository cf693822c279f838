"""Matrix products: packed weights, constant left sides, or two values of the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from swath.graph.ir import Node, Value
from swath.graph.types import DType
from swath.stages.lower_reduce import reduction
from swath.stages.state import Deferred, Pending, State, describe
from swath.stages.weights import PANEL, pack_panels
from swath.tile.expressions import Apply, Expression, Load, Result
from swath.tile.kernels import Kernel, Product
from swath.tile.views import View, whole

Array = npt.NDArray[Any]

NARROW = 4  # columns up to which a dot product per column beats a panel that is mostly empty


def lower_linear(state: State, node: Node) -> None:
    """x @ weight.T + bias."""
    x, weight, *bias = node.inputs
    array = state.graph.constant(weight)
    view = state.view(x)
    output = node.output
    shape = output.type.static_shape
    if array is None or view.buffer.dtype is not DType.FLOAT32 or shape[-1] <= NARROW:
        deferred = dots(view, state.view(weight), describe(output))
    else:
        deferred = _packed(state, view, array.T, shape, describe(output))
    if bias:
        added = state.settled(bias[0], shape)
        expression = Apply("add", (deferred.expression, added), output.type.dtype)
        deferred = Deferred(shape, expression, deferred.pending)
    state.define(output, deferred)


def lower_matmul(state: State, node: Node) -> None:
    """a @ b with broadcast leading axes."""
    left, right = node.inputs
    output = node.output
    shape = output.type.static_shape
    lead, rows, columns = shape[:-2], shape[-2], shape[-1]
    depth = left.type.static_shape[-1]
    if depth == 1:  # a column times a row: nothing is summed
        sides = (state.settled(left, shape), state.settled(right, shape))
        state.define(output, Deferred(shape, Apply("mul", sides, output.type.dtype)))
        return
    a = state.view(left).expand((*lead, rows, depth))
    array = state.graph.constant(right)
    if a.buffer.dtype is not DType.FLOAT32 or _prefers_dots(state, right, columns):
        rows_of_right = _turned(state, right).expand((*lead, columns, depth))
        deferred = dots(a, rows_of_right, describe(output))
    elif array is not None:
        deferred = _packed(state, a, array, shape, describe(output))
    else:
        b, turned = _right_side(state, right)
        b = b.expand((*lead, depth, columns))
        deferred = _product(a, b, False, shape, describe(output), turned)
    state.define(output, deferred)


def _turned(state: State, value: Value) -> View:
    """The value with its last two axes exchanged; weights are stored that way."""
    array = state.graph.constant(value)
    if array is not None:
        turned = np.swapaxes(array, -1, -2)
        return whole(state.weights.add(turned), turned.shape)
    rank = value.type.rank
    return state.view(value).permute((*range(rank - 2), rank - 1, rank - 2))


def _prefers_dots(state: State, right: Value, columns: int) -> bool:
    """True for a narrow right side whose columns can be read lane by lane."""
    if columns > NARROW:
        return False
    return (
        columns == 1
        or state.graph.constant(right) is not None
        or (state.view(right).strides[-2] == 1)
    )


MOST_TURNED = 8192  # elements of a right side that a product may pack on the stack


def _right_side(state: State, value: Value) -> tuple[View, bool]:
    """The value with stride 1 along its last axis, or small and with stride 1 along the one
    before; else a copy."""
    view = state.view(value)
    depth, columns = view.shape[-2:]
    if view.strides[-1] == 1 or columns == 1:
        return view, False
    panels = -(-columns // PANEL) * PANEL
    if (view.strides[-2] == 1 or depth == 1) and panels * depth <= MOST_TURNED:
        return view, True
    copy = state.scratch(view.shape, view.buffer.dtype, "transposed")
    state.store(view, copy, f"transposed {describe(value)}")
    return copy, False


def _packed(
    state: State, left: View, matrix: Array, shape: tuple[int, ...], comment: str
) -> Deferred:
    panels = pack_panels(matrix)
    right = whole(state.weights.add(panels), panels.shape)
    lead = (*shape[:-2], *panels.shape[-3:])
    return _product(left, right.expand(lead), True, shape, comment)


def _product(
    left: View,
    right: View,
    packed: bool,
    shape: tuple[int, ...],
    comment: str,
    turned: bool = False,
) -> Deferred:
    def emit(destination: View, finish: Expression) -> Kernel:
        return Product(destination, left, right, packed, finish, comment, turned)

    return Deferred(shape, Result(DType.FLOAT32), Pending(shape, emit, True))


def dots(left: View, right_rows: View, comment: str) -> Deferred:
    """sum over k of left[..., m, k] * right_rows[..., n, k] as a reduction."""
    *lead, rows, depth = left.shape if len(left.shape) > 1 else (1, *left.shape)
    columns = right_rows.shape[-2]
    domain = (*lead, rows, columns, depth)
    spread = left.reshape((*lead, rows, 1, depth))
    assert spread is not None, "a new unit axis is always a view"
    dtype = left.buffer.dtype
    right_spread = right_rows.reshape((*right_rows.shape[:-2], 1, columns, depth))
    assert right_spread is not None, "a new unit axis is always a view"
    value = Apply("mul", (Load(spread.expand(domain)), Load(right_spread.expand(domain))), dtype)
    deferred = reduction("sum", domain, (len(domain) - 1,), value, dtype, comment)
    kept = tuple(np.delete(np.array(deferred.shape), -1).tolist())
    if len(left.shape) == 1:
        kept = kept[1:]
    return Deferred(kept, deferred.expression, deferred.pending)
