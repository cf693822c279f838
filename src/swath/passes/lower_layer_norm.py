"""Layer norm and RMS norm as means and element-wise ops."""

from __future__ import annotations

from swath.graph.ir import Graph, Value
from swath.graph.ops import Binary, LayerNorm, Reduce, RmsNorm, Unary
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, rewrite


def lower_layer_norm(graph: Graph) -> Graph:
    """Write layer norms and RMS norms out.

    Before:
        input %x: f32[1,4] @candidate
        constant %weight: f32[4] @once = [1.0, 2.0, 3.0, 4.0]
        %y: f32[1,4] @candidate = layer_norm(%x, %weight, axes=1, epsilon=0.5)
        return %y
    After:
        input %x: f32[1,4] @candidate
        constant %weight: f32[4] @once = [1.0, 2.0, 3.0, 4.0]
        constant %y.constant: f32[] @once = 0.5
        %y.reduce: f32[1,1] @candidate = reduce(%x, function="mean", axes=[1], keepdim=true)
        %y.binary: f32[1,4] @candidate = binary(%x, %y.reduce, function="sub")
        %y.unary: f32[1,4] @candidate = unary(%y.binary, function="square")
        %y.reduce_1: f32[1,1] @candidate = reduce(%y.unary, function="mean", axes=[1], keepdim=true)
        %y.binary_1: f32[1,1] @candidate = binary(%y.reduce_1, %y.constant, function="add")
        %y.unary_1: f32[1,1] @candidate = unary(%y.binary_1, function="rsqrt")
        %y.binary_2: f32[1,4] @candidate = binary(%y.binary, %y.unary_1, function="mul")
        %y: f32[1,4] @candidate = binary(%y.binary_2, %weight, function="mul")
        return %y
    """
    return rewrite(graph, (_layer_norm, _rms_norm))


def _layer_norm(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, LayerNorm):
        return None
    x, *affine = inputs
    centred = rewriter.add(Binary("sub"), x, _mean(rewriter, x, op.axes))
    factor = _inverse_root_mean_square(rewriter, centred, op.axes, op.epsilon)
    if not affine:
        return Binary("mul"), (centred, factor)
    normal = rewriter.add(Binary("mul"), centred, factor)
    if len(affine) == 1:
        return Binary("mul"), (normal, affine[0])
    return Binary("add"), (rewriter.add(Binary("mul"), normal, affine[0]), affine[1])


def _rms_norm(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, RmsNorm):
        return None
    x, *weight = inputs
    factor = _inverse_root_mean_square(rewriter, x, op.axes, op.epsilon)
    if not weight:
        return Binary("mul"), (x, factor)
    return Binary("mul"), (rewriter.add(Binary("mul"), x, factor), weight[0])


def _inverse_root_mean_square(rewriter: Rewriter, x: Value, axes: int, epsilon: float) -> Value:
    square = rewriter.add(Unary("square"), x)
    mean = _mean(rewriter, square, axes)
    more = rewriter.add(Binary("add"), mean, rewriter.number(epsilon, x.type.dtype))
    return rewriter.add(Unary("rsqrt"), more)


def _mean(rewriter: Rewriter, x: Value, axes: int) -> Value:
    last = tuple(range(x.type.rank - axes, x.type.rank))
    return rewriter.add(Reduce("mean", last, keepdim=True), x)
