"""Batch norm in inference form is a multiplication and an addition."""

from __future__ import annotations

import numpy as np

from swath.graph.ir import Array, Graph
from swath.graph.ops import BatchNorm, Binary
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, rewrite


def lower_batch_norm(graph: Graph) -> Graph:
    """Write a batch norm with constant statistics as x * scale + shift.

    Before:
        input %x: f32[1,2] @candidate
        constant %mean: f32[2] @once = [1.0, 2.0]
        constant %variance: f32[2] @once = [3.0, 0.0]
        constant %weight: f32[2] @once = [1.0, 4.0]
        constant %bias: f32[2] @once = [0.5, 0.0]
        %y: f32[1,2] @candidate = batch_norm(%x, %mean, %variance, %weight, %bias, epsilon=1.0)
        return %y
    After:
        input %x: f32[1,2] @candidate
        constant %y.scale: f32[2] @once = [0.5, 4.0]
        constant %y.shift: f32[2] @once = [0.0, -8.0]
        %y.binary: f32[1,2] @candidate = binary(%x, %y.scale, function="mul")
        %y: f32[1,2] @candidate = binary(%y.binary, %y.shift, function="add")
        return %y
    """
    return rewrite(graph, (_scale_and_shift,))


def _scale_and_shift(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, BatchNorm):
        return None
    arrays = [rewriter.array(value) for value in inputs[1:]]
    known = [array.astype(np.float64) for array in arrays if array is not None]
    if len(known) != len(arrays):
        return None
    mean, variance, weight, bias = known
    # In double precision, so that the two constants are rounded once.
    scale = weight / np.sqrt(variance + op.epsilon)
    shift = bias - mean * scale
    x = inputs[0]

    def per_channel(array: Array) -> Array:
        return array.astype(x.type.dtype.numpy).reshape(*array.shape, *(1,) * (x.type.rank - 2))

    scaled = rewriter.add(Binary("mul"), x, rewriter.constant(per_channel(scale), "scale"))
    return Binary("add"), (scaled, rewriter.constant(per_channel(shift), "shift"))
