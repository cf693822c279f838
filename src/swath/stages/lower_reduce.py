"""Reductions, softmax and orders along axes."""

from __future__ import annotations

from swath.graph.ir import Node
from swath.graph.ops import ArgReduce, Cumulative, Reduce, Softmax, Sort, TopK
from swath.graph.types import DType
from swath.stages.state import Deferred, Pending, State, describe
from swath.tile.expressions import Apply, Expression, Load, Result, runs_on_lanes
from swath.tile.kernels import Kernel, Order, Reduction
from swath.tile.views import View


def lower_reduce(state: State, node: Node) -> None:
    """A reduction whose finish is open."""
    assert isinstance(node.op, Reduce)
    op, source = node.op, node.inputs[0]
    shape = source.type.static_shape
    axes = tuple(axis for axis in op.axes)
    value = state.settled(source, shape)
    output = node.output
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    deferred = reduction(op.function, shape, axes, value, output.type.dtype, describe(output))
    assert deferred.shape == kept
    state.define(output, Deferred(output.type.static_shape, deferred.expression, deferred.pending))


def reduction(
    function: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    value: Expression,
    dtype: DType,
    comment: str,
) -> Deferred:
    """A pending reduction of `value` over `axes`, which stay with size 1."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))

    def emit(destination: View, finish: Expression) -> Kernel:
        return Reduction(destination, function, shape, axes, value, finish, comment)

    return Deferred(kept, Result(dtype), Pending(kept, emit, runs_on_lanes(value)))


def lower_softmax(state: State, node: Node) -> None:
    """exp(x - max) / sum, or x - max - log(sum), as four loops over data in L1."""
    assert isinstance(node.op, Softmax)
    axis, source = node.op.axis, node.inputs[0]
    shape, dtype = source.type.static_shape, source.type.dtype
    comment = describe(node.output)
    x = Load(state.view(source))

    def reduce(function: str, value: Expression) -> Expression:
        deferred = reduction(function, shape, (axis,), value, dtype, f"{function} of {comment}")
        target = state.scratch(deferred.shape, dtype, "softmax")
        state.store(deferred, target, comment)
        return Load(target.expand(shape))

    shifted = Apply("sub", (x, reduce("max", x)), dtype)
    if node.op.log:
        total = reduce("sum", Apply("exp", (shifted,), dtype))
        result = Apply("sub", (shifted, Apply("log", (total,), dtype)), dtype)
    else:
        powers = state.scratch(shape, dtype, "softmax")
        state.store(Deferred(shape, Apply("exp", (shifted,), dtype)), powers, f"exp of {comment}")
        result = Apply("div", (Load(powers), reduce("sum", Load(powers))), dtype)
    state.define(node.output, Deferred(shape, result))


def lower_sort(state: State, node: Node) -> None:
    """Values and indices in order."""
    assert isinstance(node.op, Sort)
    size = node.inputs[0].type.static_shape[node.op.axis]
    _order(state, node, "sort", node.op.axis, size, node.op.descending)


def lower_topk(state: State, node: Node) -> None:
    """The first k of the order."""
    assert isinstance(node.op, TopK)
    _order(state, node, "topk", node.op.axis, node.op.k, node.op.largest)


def _order(
    state: State, node: Node, function: str, axis: int, count: int, descending: bool
) -> None:
    source = state.view(node.inputs[0])
    values, indices = (
        state.destination(value) if state.uses[value] else None for value in node.outputs
    )
    state.kernels.append(
        Order(function, source, axis, count, descending, values, indices, describe(node.outputs[0]))
    )
    for value, view in zip(node.outputs, (values, indices), strict=True):
        if view is not None:
            state.define(value, view)


def lower_arg_reduce(state: State, node: Node) -> None:
    """The index of an extreme."""
    assert isinstance(node.op, ArgReduce)
    axis, source = node.op.axis, state.view(node.inputs[0])
    kept = tuple(1 if i == axis else size for i, size in enumerate(source.shape))
    target = state.destination(node.output)
    indices = target.reshape(kept)
    assert indices is not None, "unit axes always reshape"
    state.kernels.append(
        Order(
            f"arg{node.op.function}", source, axis, 1, False, None, indices, describe(node.output)
        )
    )
    state.define(node.output, target)


def lower_cumulative(state: State, node: Node) -> None:
    """A running sum or product."""
    assert isinstance(node.op, Cumulative)
    source = state.view(node.inputs[0])
    target = state.destination(node.output)
    state.kernels.append(
        Order(
            f"cum{node.op.function}",
            source,
            node.op.axis,
            source.shape[node.op.axis],
            False,
            target,
            None,
            describe(node.output),
        )
    )
    state.define(node.output, target)
