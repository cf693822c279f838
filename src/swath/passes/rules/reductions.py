"""Reductions and running sums along axes of size 1."""

from __future__ import annotations

from dataclasses import replace

from swath.graph.ops import Cumulative, Reduce, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule


def reduce_of_ones(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A reduction of one element is that element.

    Before:
        input %x: f32[1,1,4] @candidate
        %y: f32[1,4] @candidate = reduce(%x, function="sum", axes=[1], keepdim=false)
        return %y
    After:
        input %x: f32[1,1,4] @candidate
        %y: f32[1,4] @candidate = reshape(%x, shape=[1, 4])
        return %y

    Before:
        input %x: f32[1,1,4] @candidate
        %y: f32[1] @candidate = reduce(%x, function="max", axes=[1, 2], keepdim=false)
        return %y
    After:
        input %x: f32[1,1,4] @candidate
        %y.reduce: f32[1,1] @candidate = reduce(%x, function="max", axes=[2], keepdim=false)
        %y: f32[1] @candidate = reshape(%y.reduce, shape=[1])
        return %y
    """
    if not isinstance(op, Reduce):
        return None
    shape = inputs[0].type.shape
    axes = tuple(axis for axis in op.axes if shape[axis] != 1)
    if len(axes) == len(op.axes):
        return None
    (result,) = op.infer((inputs[0].type,))
    if not axes:
        return Reshape(result.shape), inputs
    return Reshape(result.shape), (rewriter.add(replace(op, axes=axes), *inputs),)


def cumulative_of_one(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A running sum of one element is that element.

    Before:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = cumulative(%x, function="sum", axis=0)
        return %y
    After:
        input %x: f32[1,4] @candidate
        return %x
    """
    if not isinstance(op, Cumulative) or inputs[0].type.shape[op.axis] != 1:
        return None
    return inputs[0]


REDUCTION_RULES: tuple[Rule, ...] = (reduce_of_ones, cumulative_of_one)
