"""Convolution and pooling as views of sliding windows: a window is only another set of strides."""

from __future__ import annotations

from math import prod

import numpy as np

from swath.graph.ir import Node, Value
from swath.graph.ops import Convolution, Pool
from swath.graph.types import DType
from swath.stages.lower_product import dots
from swath.stages.lower_reduce import reduction
from swath.stages.state import Deferred, Pending, State, describe
from swath.tile.expressions import Apply, Expression, Load, Result, Scalar
from swath.tile.kernels import Kernel, Product
from swath.tile.views import View, whole


def lower_convolution(state: State, node: Node) -> None:
    """weight[O, C * kernel] @ windows[C * kernel, positions], by group."""
    assert isinstance(node.op, Convolution)
    op = node.op
    x, weight, *bias = node.inputs
    kernel = weight.type.static_shape[2:]
    padded = _padded(state, x, op.padding, 0.0)
    windows = _windows(padded, kernel, op.stride, op.dilation)
    batch, outputs, *spatial = node.output.type.static_shape
    groups, positions = op.groups, prod(spatial)
    channels = x.type.static_shape[1] // groups
    depth = channels * prod(kernel)
    right = _grouped(state, windows, (batch, groups, depth, positions))
    left_shape = (groups, outputs // groups, depth)
    left = _contiguous(state, weight).reshape(left_shape)
    assert left is not None, "a contiguous view always reshapes"
    shape = (batch, *left_shape[:2], positions)
    result = node.output.type.static_shape
    left = left.expand((batch, *left_shape))
    dtype = windows.buffer.dtype
    finish: Expression = Result(dtype)
    if bias:
        channel = state.view(bias[0]).reshape((groups, outputs // groups, 1))
        assert channel is not None, "a vector is contiguous"
        finish = Apply("add", (finish, Load(channel.expand(shape))), dtype)

    comment = describe(node.output)

    def emit(destination: View, value: Expression) -> Kernel:
        return Product(destination, left, right, False, value, comment)

    if dtype is DType.FLOAT32:
        pending = Pending(shape, emit, True)
    else:
        pending = dots(left, right.permute((0, 1, 3, 2)), comment).pending
    target = state.destination(node.output)
    natural = target.reshape(shape)
    if natural is None:
        target = state.scratch(result, dtype, "convolution")
        natural = target.reshape(shape)
        assert natural is not None
    state.store(Deferred(shape, finish, pending), natural, comment)
    state.define(node.output, target)


def lower_pool(state: State, node: Node) -> None:
    """A reduction over each window."""
    assert isinstance(node.op, Pool)
    op = node.op
    spatial = len(op.kernel)
    border = -np.inf if op.function == "max" else 0.0
    padded = _padded(state, node.inputs[0], op.padding, border)
    windows = _windows(padded, op.kernel, op.stride, (1,) * spatial)
    lead = len(windows.shape) - 2 * spatial
    axes = tuple(range(lead, lead + spatial))
    shape, dtype = windows.shape, windows.buffer.dtype
    summed = op.function if op.function == "max" else "sum"
    pooled = reduction(summed, shape, axes, Load(windows), dtype, describe(node.output))
    expression = pooled.expression
    if op.function != "max":
        counts = _counts(state, node, op).reshape(pooled.shape)
        assert counts is not None
        expression = Apply("div", (expression, Load(counts)), dtype)
    state.define(node.output, Deferred(node.output.type.static_shape, expression, pooled.pending))
    state.view(node.output)


def _counts(state: State, node: Node, op: Pool) -> View:
    """How many elements each window of a mean divides by."""
    shape = node.output.type.static_shape
    sizes = node.inputs[0].type.static_shape[-len(op.kernel) :]
    counts = np.ones((), np.float32)
    for axis, size in enumerate(sizes):
        before, after = op.padding[axis]
        inside = np.zeros(before + size + after, np.float32)
        inside[before : before + size] = 1
        if op.count_padding:
            inside[:] = 1
        starts = np.arange(shape[axis - len(sizes)]) * op.stride[axis]
        along = np.array([inside[s : s + op.kernel[axis]].sum() for s in starts])
        counts = counts[..., None] * along
    full = np.broadcast_to(counts, shape).astype(np.float32)
    return whole(state.weights.add(full), shape)


def _padded(state: State, x: Value, padding: tuple[tuple[int, int], ...], border: float) -> View:
    view = state.view(x)
    if not any(before or after for before, after in padding):
        return view
    lead = len(view.shape) - len(padding)
    spatial = tuple(
        before + size + after
        for size, (before, after) in zip(view.shape[lead:], padding, strict=True)
    )
    shape = (*view.shape[:lead], *spatial)
    padded = state.scratch(shape, view.buffer.dtype, "padded")
    comment = f"padded {describe(x)}"
    state.store(Deferred(shape, Scalar(border, view.buffer.dtype)), padded, comment)
    inside = padded
    for axis, (before, _) in enumerate(padding, lead):
        inside = inside.slice(axis, before, before + view.shape[axis])
    state.store(view, inside, comment)
    return padded


def _windows(
    view: View, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> View:
    """[lead..., *kernel, *positions]: every window of the trailing axes."""
    lead = len(view.shape) - len(kernel)
    sizes = view.shape[lead:]
    positions = tuple(
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    )
    steps = view.strides[lead:]
    return View(
        view.buffer,
        view.offset,
        (*view.shape[:lead], *kernel, *positions),
        (
            *view.strides[:lead],
            *(step * d for step, d in zip(steps, dilation, strict=True)),
            *(step * s for step, s in zip(steps, stride, strict=True)),
        ),
    )


def _contiguous(state: State, weight: Value) -> View:
    """The weight row by row: a constant, or what is computed of inputs."""
    array = state.graph.constant(weight)
    if array is not None:
        return whole(state.weights.add(np.ascontiguousarray(array)), weight.type.static_shape)
    view = state.view(weight)
    if view.contiguous:
        return view
    copy = state.scratch(view.shape, view.buffer.dtype, "weight")
    state.store(view, copy, f"weight {describe(weight)}")
    return copy


def _grouped(state: State, windows: View, shape: tuple[int, ...]) -> View:
    """The windows as [batch, groups, depth, positions] with adjacent positions."""
    view = windows.reshape(shape)
    if view is not None and (view.strides[-1] == 1 or shape[-1] == 1):
        return view
    copy = state.scratch(windows.shape, windows.buffer.dtype, "windows")
    state.store(windows, copy, "windows")
    view = copy.reshape(shape)
    assert view is not None, "a contiguous copy always reshapes"
    return view
