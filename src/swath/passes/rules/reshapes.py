"""Reshapes move behind ops that don't care for the shape.

There they meet others, and ops that were apart are neighbours: products that read one value in two
shapes, a function behind the product that it can be the end of.
"""

from __future__ import annotations

from dataclasses import replace

from swath.graph.ir import Value
from swath.graph.ops import Binary, Cast, Linear, Reduce, Reshape, Softmax, Unary, Where
from swath.graph.ops.base import Op
from swath.graph.types import Dim, Shape
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, types


def elementwise_of_reshape(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """An element-wise op works on what was reshaped; numbers go with every shape, and constants are
    reshaped.

    Before:
        input %x: f32[1,6] @candidate
        constant %two: f32[] @once = 2.0
        %a: f32[2,3] @candidate = reshape(%x, shape=[2, 3])
        %b: f32[2,3] @candidate = unary(%a, function="exp")
        %y: f32[2,3] @candidate = binary(%two, %b, function="mul")
        return %y
    After:
        input %x: f32[1,6] @candidate
        constant %two: f32[] @once = 2.0
        %b.unary: f32[1,6] @candidate = unary(%x, function="exp")
        %y.binary: f32[1,6] @candidate = binary(%two, %b.unary, function="mul")
        %y: f32[2,3] @candidate = reshape(%y.binary, shape=[2, 3])
        return %y
    """
    if not isinstance(op, Unary | Cast | Binary | Where):
        return None
    reshapes = [rewriter.made_by(value, Reshape) for value in inputs]
    found = {(r[1][0].type.shape, r[0].shape) for r in reshapes if r is not None}
    if len(found) != 1:
        return None
    before, after = found.pop()
    (result,) = op.infer(types(inputs))
    if result.shape != after:
        return None
    sources: list[Value] = []
    for value, reshape in zip(inputs, reshapes, strict=True):
        source = _operand(rewriter, value, before, after) if reshape is None else reshape[1][0]
        if source is None:
            return None
        sources.append(source)
    return Reshape(after), (rewriter.add(op, *sources),)


def _operand(rewriter: Rewriter, value: Value, before: Shape, after: Shape) -> Value | None:
    """A number as it is, or a constant that goes with a value of shape `before` as this one does
    with the value reshaped to `after`."""
    array = rewriter.array(value)
    if value.type.rank == 0:
        return value
    if array is None:
        return None
    if array.shape == after:
        return rewriter.reshaped(value, before)
    old, new = _wide_axes(before), _wide_axes(after)
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        return None
    sizes = (1,) * (len(after) - array.ndim) + array.shape
    shape: list[Dim] = [1] * len(before)
    for axis, place in zip(old, new, strict=True):
        shape[axis] = sizes[place]
    return rewriter.reshaped(value, tuple(shape))


def _wide_axes(shape: Shape) -> list[int]:
    return [axis for axis, size in enumerate(shape) if size != 1]


def linear_of_reshape(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A linear works on the rows as they were, if they are the same rows.

    Before:
        input %x: f32[2,3,4] @candidate
        constant %w: f32[5,4] @once
        %a: f32[1,6,4] @candidate = reshape(%x, shape=[1, 6, 4])
        %y: f32[1,6,5] @candidate = linear(%a, %w)
        return %y
    After:
        input %x: f32[2,3,4] @candidate
        constant %w: f32[5,4] @once
        %y.linear: f32[2,3,5] @candidate = linear(%x, %w)
        %y: f32[1,6,5] @candidate = reshape(%y.linear, shape=[1, 6, 5])
        return %y
    """
    reshape = rewriter.made_by(inputs[0], Reshape) if isinstance(op, Linear) else None
    if reshape is None:
        return None
    source = reshape[1][0]
    if source.type.shape[-1:] != inputs[0].type.shape[-1:]:
        return None
    (result,) = op.infer(types(inputs))
    return Reshape(result.shape), (rewriter.add(op, source, *inputs[1:]),)


def axes_of_reshape(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A softmax or reduction behind a reshape that only adds or drops axes of size 1 works in front
    of it.

    Before:
        input %x: f32[1,4] @candidate
        %a: f32[1,4,1] @candidate = reshape(%x, shape=[1, 4, 1])
        %y: f32[1,4,1] @candidate = softmax(%a, axis=1)
        return %y
    After:
        input %x: f32[1,4] @candidate
        %y.softmax: f32[1,4] @candidate = softmax(%x, axis=1)
        %y: f32[1,4,1] @candidate = reshape(%y.softmax, shape=[1, 4, 1])
        return %y
    """
    if not isinstance(op, Softmax | Reduce):
        return None
    reshape = rewriter.made_by(inputs[0], Reshape)
    if reshape is None:
        return None
    source = reshape[1][0]
    axes = (op.axis,) if isinstance(op, Softmax) else op.axes
    moved = _axes_before(source.type.shape, inputs[0].type.shape, axes)
    if moved is None:
        return None
    (result,) = op.infer(types(inputs))
    changed = replace(op, axis=moved[0]) if isinstance(op, Softmax) else replace(op, axes=moved)
    return Reshape(result.shape), (rewriter.add(changed, source),)


def _axes_before(before: Shape, after: Shape, axes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where axes (none of size 1) were before a reshape that moved only axes of size 1."""
    old, new = _wide_axes(before), _wide_axes(after)
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        return None
    if any(axis not in new for axis in axes):
        return None
    return tuple(old[new.index(axis)] for axis in axes)


RESHAPE_RULES: tuple[Rule, ...] = (elementwise_of_reshape, linear_of_reshape, axes_of_reshape)
