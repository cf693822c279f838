"""Matrix products written so that no operand is turned first."""

from __future__ import annotations

from swath.graph.ops import MatMul, Permute, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, is_static, types
from swath.passes.rules.chains import stored_in_order


def product_with_column(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A @ v is (v.T @ A.T).T if A.T is stored: a row is free to become a column.

    Before:
        input %x: f32[4,5] @candidate
        input %v: f32[4,1] @candidate
        %a: f32[5,4] @candidate = permute(%x, axes=[1, 0])
        %y: f32[5,1] @candidate = matmul(%a, %v)
        return %y
    After:
        input %x: f32[4,5] @candidate
        input %v: f32[4,1] @candidate
        %y.reshape: f32[1,4] @candidate = reshape(%v, shape=[1, 4])
        %y.matmul: f32[1,5] @candidate = matmul(%y.reshape, %x)
        %y: f32[5,1] @candidate = reshape(%y.matmul, shape=[5, 1])
        return %y
    """
    if not isinstance(op, MatMul) or not is_static(*inputs):
        return None
    matrix, vector = inputs
    if vector.type.shape[-1] != 1 or matrix.type.shape[-2] == 1:
        return None
    rank = matrix.type.rank
    turn = Permute((*range(rank - 2), rank - 1, rank - 2))
    source = stored_in_order(rewriter, turn, matrix)
    if source is None:
        return None
    *lead, inner, _ = vector.type.static_shape
    row = rewriter.add(Reshape((*lead, 1, inner)), vector)
    turned = turn.infer(types((matrix,)))[0].static_shape
    if source.type.shape != turned:
        source = rewriter.add(Reshape(turned), source)
    product = rewriter.add(MatMul(), row, source)
    return Reshape(op.infer(types(inputs))[0].static_shape), (product,)


PRODUCT_RULES: tuple[Rule, ...] = (product_with_column,)
