"""Expands that element-wise ops don't need: those broadcast by themselves."""

from __future__ import annotations

from swath.graph.ir import Value
from swath.graph.ops import Binary, Cast, Expand, Linear, Unary, Where
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, types


def elementwise_of_expand(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """An element-wise op works on what was expanded; its result is expanded if it still must be.

    Before:
        input %x: f32[1,1,4] @candidate
        input %z: f32[1,3,4] @candidate
        %many: f32[1,3,4] @candidate = expand(%x, shape=[1, 3, 4])
        %e: f32[1,3,4] @candidate = unary(%many, function="exp")
        %y: f32[1,3,4] @candidate = binary(%e, %z, function="add")
        return %y, %e
    After:
        input %x: f32[1,1,4] @candidate
        input %z: f32[1,3,4] @candidate
        %e.unary: f32[1,1,4] @candidate = unary(%x, function="exp")
        %e: f32[1,3,4] @candidate = expand(%e.unary, shape=[1, 3, 4])
        %y: f32[1,3,4] @candidate = binary(%e.unary, %z, function="add")
        return %y, %e
    """
    if not isinstance(op, Unary | Cast | Binary | Where):
        return None
    sources = tuple(_source(rewriter, value) for value in inputs)
    if sources == inputs:
        return None
    return _expanded(rewriter, op, inputs, sources)


def linear_of_expand(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A linear works on the rows that were repeated.

    Before:
        input %x: f32[1,1,4] @candidate
        constant %w: f32[2,4] @once
        %many: f32[1,3,4] @candidate = expand(%x, shape=[1, 3, 4])
        %y: f32[1,3,2] @candidate = linear(%many, %w)
        return %y
    After:
        input %x: f32[1,1,4] @candidate
        constant %w: f32[2,4] @once
        %y.linear: f32[1,1,2] @candidate = linear(%x, %w)
        %y: f32[1,3,2] @candidate = expand(%y.linear, shape=[1, 3, 2])
        return %y
    """
    if not isinstance(op, Linear):
        return None
    source = _source(rewriter, inputs[0])
    if source is inputs[0] or source.type.shape[-1:] != inputs[0].type.shape[-1:]:
        return None
    return _expanded(rewriter, op, inputs, (source, *inputs[1:]))


def operand_of_one_value(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A fill, or a constant that is one number again and again, is a number.

    Before:
        input %x: f32[1,3,4] @candidate
        %half: f32[1,3,4] @once = fill(shape=[1, 3, 4], value=0.5, dtype=f32)
        %y: f32[1,3,4] @candidate = binary(%x, %half, function="mul")
        return %y
    After:
        input %x: f32[1,3,4] @candidate
        constant %y.constant: f32[] @once = 0.5
        %y: f32[1,3,4] @candidate = binary(%x, %y.constant, function="mul")
        return %y
    """
    if not isinstance(op, Binary | Where):
        return None
    numbers = {
        value: scalar
        for value in inputs
        if value.type.rank and (scalar := rewriter.scalar(value)) is not None
    }
    kept = [value.type for value in inputs if value not in numbers]
    if not numbers or not kept:
        return None
    before = op.infer(types(inputs))
    narrow = tuple(v.type.with_shape(()) if v in numbers else v.type for v in inputs)
    if op.infer(narrow) != before:
        return None
    return op, tuple(_number(rewriter, v, numbers[v]) if v in numbers else v for v in inputs)


def _number(rewriter: Rewriter, value: Value, number: float) -> Value:
    return rewriter.number(number, value.type.dtype)


def _source(rewriter: Rewriter, value: Value) -> Value:
    inner = rewriter.made_by(value, Expand)
    return value if inner is None else inner[1][0]


def _expanded(rewriter: Rewriter, op: Op, inputs: Inputs, sources: Inputs) -> Made:
    """`op` of `sources`, expanded to the shape that it has for `inputs`."""
    (before,) = op.infer(types(inputs))
    (after,) = op.infer(types(sources))
    if after.shape == before.shape:
        return op, sources
    return Expand(before.shape), (rewriter.add(op, *sources),)


BROADCAST_RULES: tuple[Rule, ...] = (
    elementwise_of_expand,
    linear_of_expand,
    operand_of_one_value,
)
