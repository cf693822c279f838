"""A matrix product with a constant matrix is a linear, whose weights can be packed."""

from __future__ import annotations

from swath.graph.ir import Array, Graph, Value
from swath.graph.ops import Linear, MatMul, Permute, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Application, Inputs, Made, Rewriter, is_static, rewrite, types


def matmul_to_linear(graph: Graph) -> Graph:
    """Write x @ C as linear(x, C.T), and C @ x as linear(x.T, C).T.

    Before:
        input %x: f32[1,2] @candidate
        constant %c: f32[2,3] @once = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        %y: f32[1,3] @candidate = matmul(%x, %c)
        return %y
    After:
        input %x: f32[1,2] @candidate
        constant %y.weight: f32[3,2] @once = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
        %y: f32[1,3] @candidate = linear(%x, %y.weight)
        return %y

    Before:
        input %x: f32[1,2,1] @candidate
        constant %c: f32[3,2] @once = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        %y: f32[1,3,1] @candidate = matmul(%c, %x)
        return %y
    After:
        input %x: f32[1,2,1] @candidate
        constant %c: f32[3,2] @once = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        %y.reshape: f32[1,1,2] @candidate = reshape(%x, shape=[1, 1, 2])
        %y.linear: f32[1,1,3] @candidate = linear(%y.reshape, %c)
        %y: f32[1,3,1] @candidate = reshape(%y.linear, shape=[1, 3, 1])
        return %y
    """
    return rewrite(graph, (_constant_right, _constant_left))


def _constant_right(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    matrix = _matrix(rewriter, inputs[1]) if isinstance(op, MatMul) else None
    if matrix is None:
        return None
    x, weight = inputs[0], rewriter.constant(matrix.T.copy(), "weight")
    if (*x.type.shape[:-1], matrix.shape[1]) == op.infer(types(inputs))[0].shape:
        return Linear(), (x, weight)
    return _shaped(op, inputs, rewriter.add(Linear(), x, weight))


def _constant_left(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    matrix = _matrix(rewriter, inputs[0]) if isinstance(op, MatMul) else None
    if matrix is None or not is_static(inputs[1]):
        return None
    weight = inputs[0]
    if weight.type.rank > 2:
        weight = rewriter.constant(matrix, "weight")
    turn, source = _turn(inputs[1])
    x = rewriter.add(turn, *source)
    turn, product = _turn(rewriter.add(Linear(), x, weight))
    if turn.infer(types(product)) == op.infer(types(inputs)):
        return turn, product
    return _shaped(op, inputs, rewriter.add(turn, *product))


def _matrix(rewriter: Rewriter, value: Value) -> Array | None:
    """The array of a constant matrix (with leading axes of size 1)."""
    array = rewriter.array(value)
    if array is None or any(size != 1 for size in array.shape[:-2]):
        return None
    return array.reshape(array.shape[-2:])


def _turn(value: Value) -> Application:
    """What exchanges the last two axes of a value."""
    *lead, rows, columns = value.type.static_shape
    if 1 in (rows, columns):
        return Reshape((*lead, columns, rows)), (value,)
    rank = value.type.rank
    return Permute((*range(rank - 2), rank - 1, rank - 2)), (value,)


def _shaped(op: Op, inputs: Inputs, product: Value) -> Made:
    """The product in the shape of the result of `op`."""
    (result,) = op.infer(types(inputs))
    return product if product.type.shape == result.shape else (Reshape(result.shape), (product,))
