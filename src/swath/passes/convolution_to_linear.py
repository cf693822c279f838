"""A convolution that looks at one place at a time is a linear of the channels."""

from __future__ import annotations

from swath.graph.ir import Graph
from swath.graph.ops import Convolution, Linear, Permute, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, is_static, rewrite


def convolution_to_linear(graph: Graph) -> Graph:
    """Write a convolution with a kernel of size 1 as a linear over the channels, brought last.

    Before:
        input %x: f32[1,2,7] @candidate
        constant %w: f32[5,2,1] @once
        constant %b: f32[5] @once
        %y: f32[1,5,7] @candidate = convolution(%x, %w, %b, stride=[1], padding=[[0, 0]], dilation=[1], groups=1)
        return %y
    After:
        input %x: f32[1,2,7] @candidate
        constant %b: f32[5] @once
        constant %y.weight: f32[5,2] @once
        %y.permute: f32[1,7,2] @candidate = permute(%x, axes=[0, 2, 1])
        %y.linear: f32[1,7,5] @candidate = linear(%y.permute, %y.weight, %b)
        %y: f32[1,5,7] @candidate = permute(%y.linear, axes=[0, 2, 1])
        return %y
    """  # noqa: E501 - one node is one line
    return rewrite(graph, (_pointwise,))


def _pointwise(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, Convolution) or not is_static(*inputs):
        return None
    x, weight, *bias = inputs
    channels = weight.type.static_shape[:2]
    plain = op.groups == 1 and not any(map(any, op.padding)) and set(op.stride) == {1}
    if not plain or weight.type.elements != channels[0] * channels[1]:
        return None
    rank = x.type.rank
    array = rewriter.array(weight)
    if array is None:
        matrix = rewriter.add(Reshape(channels), weight)
    else:
        matrix = rewriter.constant(array.reshape(channels), "weight")
    last = rewriter.add(Permute((0, *range(2, rank), 1)), x)
    product = rewriter.add(Linear(), last, matrix, *bias)
    return Permute((0, rank - 1, *range(1, rank - 1))), (product,)
