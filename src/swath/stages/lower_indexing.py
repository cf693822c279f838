"""Reading and writing at positions that are computed."""

from __future__ import annotations

from swath.graph.ir import Node, Value
from swath.graph.ops import Gather, Index, IndexPut, Scatter
from swath.graph.ops.base import broadcast_shapes
from swath.stages.state import Deferred, State, describe
from swath.tile.expressions import Expression, Load, LoadAt
from swath.tile.kernels import ScatterStore
from swath.tile.views import View


def lower_index(state: State, node: Node) -> None:
    """PyTorch advanced indexing."""
    assert isinstance(node.op, Index)
    axes = node.op.axes
    source = state.view(node.inputs[0])
    shape = node.output.type.static_shape
    index_shape = _static(broadcast_shapes(*(v.type.static_shape for v in node.inputs[1:])))
    first = _first_index_axis(axes)
    after = len(shape) - first - len(index_shape)
    positions = tuple(_placed(state, value, index_shape, shape, after) for value in node.inputs[1:])
    kept = [axis for axis in range(len(source.shape)) if axis not in axes]
    strides = [source.strides[axis] for axis in kept]
    strides[first:first] = [0] * len(index_shape)
    base = View(source.buffer, source.offset, shape, tuple(strides))
    load = LoadAt(
        base,
        tuple(source.strides[a] for a in axes),
        tuple(source.shape[a] for a in axes),
        positions,
    )
    state.define(node.output, Deferred(shape, load))


def _first_index_axis(axes: tuple[int, ...]) -> int:
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    return axes[0] if adjacent else 0


def _static(shape: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if isinstance(size, int))


def _placed(
    state: State, value: Value, index_shape: tuple[int, ...], shape: tuple[int, ...], after: int
) -> Expression:
    """An index tensor broadcast to the loops; `after` loop axes follow the index axes."""
    view = state.view(value)
    spread = view.expand(index_shape).reshape((*index_shape, *([1] * after)))
    assert spread is not None, "new unit axes are always a view"
    return Load(spread.expand(shape))


def lower_gather(state: State, node: Node) -> None:
    """torch.gather."""
    assert isinstance(node.op, Gather)
    axis = node.op.axis
    source, index = state.view(node.inputs[0]), node.inputs[1]
    shape = node.output.type.static_shape
    strides = tuple(0 if i == axis else s for i, s in enumerate(source.strides))
    base = View(source.buffer, source.offset, shape, strides)
    load = LoadAt(
        base, (source.strides[axis],), (source.shape[axis],), (state.settled(index, shape),)
    )
    state.define(node.output, Deferred(shape, load))


def lower_scatter(state: State, node: Node) -> None:
    """torch.scatter and scatter_add."""
    assert isinstance(node.op, Scatter)
    x, index, values = node.inputs
    shape = index.type.static_shape
    source = state.view(values)
    source = View(source.buffer, source.offset, shape, source.strides)
    _scatter(
        state,
        node,
        x,
        source,
        (node.op.axis,),
        (state.settled(index, shape),),
        node.op.function == "add",
    )


def lower_index_put(state: State, node: Node) -> None:
    """x[..., i, ...] = values."""
    assert isinstance(node.op, IndexPut)
    axes = node.op.axes
    x, values, *indices = node.inputs
    sizes = x.type.static_shape
    index_shape = _static(broadcast_shapes(*(v.type.static_shape for v in indices)))
    kept = [axis for axis in range(len(sizes)) if axis not in axes]
    shape = [sizes[axis] for axis in kept]
    first = _first_index_axis(axes)
    shape[first:first] = index_shape
    loops = tuple(shape)
    after = len(loops) - first - len(index_shape)
    positions = tuple(_placed(state, value, index_shape, loops, after) for value in indices)
    target = _copied(state, node, x)
    strides = [target.strides[axis] for axis in kept]
    strides[first:first] = [0] * len(index_shape)
    base = View(target.buffer, target.offset, loops, tuple(strides))
    source = state.view(values).expand(loops)
    _store(state, node, base, target, source, axes, positions, node.op.accumulate)


def _scatter(
    state: State,
    node: Node,
    x: Value,
    source: View,
    axes: tuple[int, ...],
    positions: tuple[Expression, ...],
    accumulate: bool,
) -> None:
    target = _copied(state, node, x)
    strides = tuple(0 if i in axes else s for i, s in enumerate(target.strides))
    base = View(target.buffer, target.offset, source.shape, strides)
    _store(state, node, base, target, source, axes, positions, accumulate)


def _copied(state: State, node: Node, x: Value) -> View:
    target = state.destination(node.output)
    state.store(state.expression(x, x.type.static_shape), target, f"copy of {describe(x)}")
    return target


def _store(
    state: State,
    node: Node,
    base: View,
    target: View,
    source: View,
    axes: tuple[int, ...],
    positions: tuple[Expression, ...],
    accumulate: bool,
) -> None:
    state.kernels.append(
        ScatterStore(
            base,
            source,
            tuple(target.strides[a] for a in axes),
            tuple(target.shape[a] for a in axes),
            positions,
            accumulate,
            describe(node.output),
        )
    )
    state.define(node.output, target)
