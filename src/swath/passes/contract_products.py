"""A product that is summed right away is a matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from swath.graph.ir import Graph, Value
from swath.graph.ops import Binary, MatMul, Permute, Reduce, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, is_static, rewrite

# An operand that isn't constant is permuted if it has at most this share of the product's elements.
MOVED_SHARE = 0.25


def contract_products(graph: Graph) -> Graph:
    """Write sum(a * b) as a @ b where a and b are broadcast against one another, so that the
    product is never stored.

    The axes that are summed are the inner one of the matrix product, those that both operands have
    are its leading ones, and those of one operand alone are rows and columns. A constant operand is
    the right one.

    Before:
        input %p: f32[1,1,5,4] @candidate
        constant %kernel: f32[1,3,5,4] @once
        %product: f32[1,3,5,4] @candidate = binary(%p, %kernel, function="mul")
        %y: f32[1,3,5] @candidate = reduce(%product, function="sum", axes=[3], keepdim=false)
        return %y
    After:
        input %p: f32[1,1,5,4] @candidate
        constant %y.matrix: f32[5,4,3] @once
        %y.reshape: f32[5,1,4] @candidate = reshape(%p, shape=[5, 1, 4])
        %y.matmul: f32[5,1,3] @candidate = matmul(%y.reshape, %y.matrix)
        %y.reshape_1: f32[5,3] @candidate = reshape(%y.matmul, shape=[5, 3])
        %y.permute: f32[3,5] @candidate = permute(%y.reshape_1, axes=[1, 0])
        %y: f32[1,3,5] @candidate = reshape(%y.permute, shape=[1, 3, 5])
        return %y

    Before:
        input %scores: f32[1,7,1] @candidate
        input %values: f32[1,7,4] @candidate
        %weighted: f32[1,7,4] @candidate = binary(%scores, %values, function="mul")
        %y: f32[1,4] @candidate = reduce(%weighted, function="sum", axes=[1], keepdim=false)
        return %y
    After:
        input %scores: f32[1,7,1] @candidate
        input %values: f32[1,7,4] @candidate
        %y.reshape: f32[1,7] @candidate = reshape(%scores, shape=[1, 7])
        %y.reshape_1: f32[7,4] @candidate = reshape(%values, shape=[7, 4])
        %y: f32[1,4] @candidate = matmul(%y.reshape, %y.reshape_1)
        return %y
    """
    return rewrite(graph, (_contraction,))


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes of a product (those of size 1 left out) by the operands that have them."""

    both: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    summed: tuple[int, ...]

    def swapped(self) -> _Axes:
        """The same for the operands in the other order."""
        return _Axes(self.both, self.right, self.left, self.summed)


def _contraction(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, Reduce) or op.function != "sum" or not is_static(*inputs):
        return None
    made = rewriter.made_by(inputs[0], Binary)
    if made is None or made[0].function != "mul" or rewriter.uses(inputs[0]) != 1:
        return None
    product = inputs[0].type
    left, right = made[1]
    axes = _sorted_axes(left, right, product.static_shape, op.axes)
    if axes is None or not product.dtype.is_float:
        return None
    if not _is_right(rewriter, right, axes):
        left, right, axes = right, left, axes.swapped()
        if not _is_right(rewriter, right, axes):
            return None
    if not _is_left(rewriter, left, axes, product.elements):
        return None
    return _product(rewriter, op, (left, right), axes, product.static_shape)


def _sorted_axes(
    left: Value, right: Value, shape: tuple[int, ...], summed: tuple[int, ...]
) -> _Axes | None:
    """None if this is no matrix product."""
    one, other = _padded(left, len(shape)), _padded(right, len(shape))
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    inner = tuple(axis for axis in wide if axis in summed)
    if not inner or any(1 in (one[axis], other[axis]) for axis in inner):
        return None
    outer = [axis for axis in wide if axis not in summed]
    axes = _Axes(
        tuple(axis for axis in outer if 1 not in (one[axis], other[axis])),
        tuple(axis for axis in outer if other[axis] == 1),
        tuple(axis for axis in outer if one[axis] == 1),
        inner,
    )
    return axes if axes.left or axes.right else None


def _padded(value: Value, rank: int) -> tuple[int, ...]:
    return (1,) * (rank - value.type.rank) + value.type.static_shape


def _is_right(rewriter: Rewriter, value: Value, axes: _Axes) -> bool:
    """Whether the value can be the right operand as it is stored."""
    order = (*axes.both, *axes.summed, *axes.right)
    return rewriter.array(value) is not None or (bool(axes.right) and _in_order(order))


def _is_left(rewriter: Rewriter, value: Value, axes: _Axes, elements: int) -> bool:
    """Whether the value can be the left operand without many elements being moved."""
    if rewriter.array(value) is not None:
        return True
    order = (*axes.both, *axes.left, *axes.summed)
    return _in_order(order) or value.type.elements <= MOVED_SHARE * elements


def _in_order(axes: tuple[int, ...]) -> bool:
    return list(axes) == sorted(axes)


def _product(
    rewriter: Rewriter, op: Reduce, operands: Inputs, axes: _Axes, shape: tuple[int, ...]
) -> Made:
    def size(which: tuple[int, ...]) -> int:
        return prod(shape[axis] for axis in which)

    lead = tuple(shape[axis] for axis in axes.both)
    rows, inner, columns = size(axes.left), size(axes.summed), size(axes.right)
    rank = len(shape)
    a = _operand(rewriter, operands[0], (*axes.both, *axes.left, *axes.summed), rank)
    b = _operand(rewriter, operands[1], (*axes.both, *axes.summed, *axes.right), rank)
    a, b = _shaped(rewriter, a, (*lead, rows, inner)), _shaped(rewriter, b, (*lead, inner, columns))
    (result,) = op.infer((operands[0].type.with_shape(shape),))
    order = (*axes.both, *axes.left, *axes.right)
    if _in_order(order) and result.shape == (*lead, rows, columns):
        return MatMul(), (a, b)
    value = rewriter.add(MatMul(), a, b)
    if not _in_order(order):
        value = _shaped(rewriter, value, tuple(shape[axis] for axis in order))
        back = tuple(order.index(axis) for axis in sorted(order))
        value = rewriter.add(Permute(back), value)
    return value if value.type.shape == result.shape else (Reshape(result.static_shape), (value,))


def _operand(rewriter: Rewriter, value: Value, order: tuple[int, ...], rank: int) -> Value:
    """The value with the axes that are not of size 1 in this order."""
    padded = _padded(value, rank)
    present = sorted(order)
    axes = tuple(present.index(axis) for axis in order)
    array = rewriter.array(value)
    if array is not None:
        sizes = [padded[axis] for axis in present]
        moved = np.ascontiguousarray(array.reshape(sizes).transpose(axes))
        return rewriter.constant(moved, "matrix")
    if _in_order(order):
        return value
    split = _shaped(rewriter, value, tuple(padded[axis] for axis in present))
    return rewriter.add(Permute(axes), split)


def _shaped(rewriter: Rewriter, value: Value, shape: tuple[int, ...]) -> Value:
    if value.type.shape == shape:
        return value
    array = rewriter.array(value)
    if array is not None:
        return rewriter.constant(array.reshape(shape), "matrix")
    return rewriter.add(Reshape(shape), value)
