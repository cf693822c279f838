"""Attention as two matrix products and a softmax."""

from __future__ import annotations

import numpy as np

from swath.graph.ir import Graph, Value
from swath.graph.ops import Attention, Binary, MatMul, Permute, Reduce, Softmax, Where
from swath.graph.ops.base import Op
from swath.graph.types import DType
from swath.passes.rewriter import Inputs, Made, Rewriter, rewrite


def lower_attention(graph: Graph) -> Graph:
    """Write attention out. A query whose scores are all -inf, be it by the mask or by infinities
    in the data, gives zeros as in PyTorch.

    Before:
        input %q: f32[1,2,4] @candidate
        input %k: f32[1,3,4] @candidate
        input %v: f32[1,3,5] @candidate
        %y: f32[1,2,5] @candidate = attention(%q, %k, %v, scale=0.5, causal=false)
        return %y
    After:
        input %q: f32[1,2,4] @candidate
        input %k: f32[1,3,4] @candidate
        input %v: f32[1,3,5] @candidate
        constant %y.constant: f32[] @once = 0.5
        constant %y.constant_1: f32[] @once = -inf
        constant %y.constant_2: f32[] @once = 0.0
        %y.permute: f32[1,4,3] @candidate = permute(%k, axes=[0, 2, 1])
        %y.matmul: f32[1,2,3] @candidate = matmul(%q, %y.permute)
        %y.binary: f32[1,2,3] @candidate = binary(%y.matmul, %y.constant, function="mul")
        %y.softmax: f32[1,2,3] @candidate = softmax(%y.binary, axis=2)
        %y.reduce: f32[1,2,1] @candidate = reduce(%y.binary, function="max", axes=[2], keepdim=true)
        %y.binary_1: bool[1,2,1] @candidate = binary(%y.reduce, %y.constant_1, function="eq")
        %y.where: f32[1,2,3] @candidate = where(%y.binary_1, %y.constant_2, %y.softmax)
        %y: f32[1,2,5] @candidate = matmul(%y.where, %v)
        return %y
    """
    return rewrite(graph, (_attention,))


def _attention(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, Attention):
        return None
    q, k, v, *mask = inputs
    rank = k.type.rank
    turned = rewriter.add(Permute((*range(rank - 2), rank - 1, rank - 2)), k)
    scale = rewriter.number(op.scale, q.type.dtype)
    scores = rewriter.add(Binary("mul"), rewriter.add(MatMul(), q, turned), scale)
    hidden = rewriter.number(float("-inf"), q.type.dtype)
    if mask and mask[0].type.dtype is DType.BOOL:
        scores = rewriter.add(Where(), mask[0], scores, hidden)
    elif mask:
        scores = rewriter.add(Binary("add"), scores, mask[0])
    if op.causal:
        triangle = np.tri(*scores.type.static_shape[-2:], dtype=np.bool_)
        scores = rewriter.add(Where(), rewriter.constant(triangle, "causal"), scores, hidden)
    weights = rewriter.add(Softmax(scores.type.rank - 1), scores)
    return MatMul(), (_without_blind(rewriter, scores, weights, hidden), v)


def _without_blind(rewriter: Rewriter, scores: Value, weights: Value, hidden: Value) -> Value:
    """The weights, 0 (not NaN) for a query whose keys are all masked out."""
    best = rewriter.add(Reduce("max", (scores.type.rank - 1,), keepdim=True), scores)
    blind = rewriter.add(Binary("eq"), best, hidden)
    zero = rewriter.number(0.0, scores.type.dtype)
    return rewriter.add(Where(), blind, zero, weights)
