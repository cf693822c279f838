"""Reshapes, permutes, expands, slices and takes that do nothing or go together."""

from __future__ import annotations

from swath.graph.ops import Expand, Fill, Permute, Reshape, Slice, Take
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule


def view_of_nothing(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A view that leaves everything in its place is nothing.

    Before:
        input %x: f32[1,4] @candidate
        %a: f32[1,4] @candidate = reshape(%x, shape=[1, 4])
        %b: f32[1,4] @candidate = permute(%a, axes=[0, 1])
        %c: f32[1,4] @candidate = expand(%b, shape=[1, 4])
        %d: f32[1,4] @candidate = slice(%c, axis=1, start=0, stop=4)
        return %d
    After:
        input %x: f32[1,4] @candidate
        return %x
    """
    if isinstance(op, Reshape | Expand):
        same = op.shape == inputs[0].type.shape
    elif isinstance(op, Permute):
        same = op.axes == tuple(range(len(op.axes)))
    elif isinstance(op, Slice):
        same = (op.start, op.step, op.stop) == (0, 1, inputs[0].type.shape[op.axis])
    else:
        same = False
    return inputs[0] if same else None


def reshape_of_reshape(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Only the last of two reshapes counts.

    Before:
        input %x: f32[1,6] @candidate
        %a: f32[1,2,3] @candidate = reshape(%x, shape=[1, 2, 3])
        %b: f32[2,3] @candidate = reshape(%a, shape=[2, 3])
        return %b
    After:
        input %x: f32[1,6] @candidate
        %b: f32[2,3] @candidate = reshape(%x, shape=[2, 3])
        return %b
    """
    inner = rewriter.made_by(inputs[0], Reshape) if isinstance(op, Reshape) else None
    return None if inner is None else (op, inner[1])


def permute_of_permute(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Two permutes are one.

    Before:
        input %x: f32[1,2,3] @candidate
        %a: f32[3,1,2] @candidate = permute(%x, axes=[2, 0, 1])
        %b: f32[3,2,1] @candidate = permute(%a, axes=[0, 2, 1])
        return %b
    After:
        input %x: f32[1,2,3] @candidate
        %b: f32[3,2,1] @candidate = permute(%x, axes=[2, 1, 0])
        return %b
    """
    if not isinstance(op, Permute):
        return None
    inner = rewriter.made_by(inputs[0], Permute)
    if inner is None:
        return None
    return Permute(tuple(inner[0].axes[axis] for axis in op.axes)), inner[1]


def permute_of_ones(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A permute that moves only axes of size 1 past others is a reshape.

    Before:
        input %x: f32[1,26,16] @candidate
        %y: f32[26,1,16] @candidate = permute(%x, axes=[1, 0, 2])
        return %y
    After:
        input %x: f32[1,26,16] @candidate
        %y: f32[26,1,16] @candidate = reshape(%x, shape=[26, 1, 16])
        return %y
    """
    if not isinstance(op, Permute):
        return None
    shape = inputs[0].type.shape
    moved = [axis for axis in op.axes if shape[axis] != 1]
    if moved != sorted(moved):
        return None
    return Reshape(tuple(shape[axis] for axis in op.axes)), inputs


def expand_of_expand(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Only the last of two expands counts.

    Before:
        input %x: f32[1,1] @candidate
        %a: f32[1,4] @candidate = expand(%x, shape=[1, 4])
        %b: f32[3,4] @candidate = expand(%a, shape=[3, 4])
        return %b
    After:
        input %x: f32[1,1] @candidate
        %b: f32[3,4] @candidate = expand(%x, shape=[3, 4])
        return %b
    """
    inner = rewriter.made_by(inputs[0], Expand) if isinstance(op, Expand) else None
    return None if inner is None else (op, inner[1])


def expand_to_ones(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """An expand that only adds axes of size 1 is a reshape.

    Before:
        input %x: f32[2,4] @candidate
        %y: f32[1,2,4] @candidate = expand(%x, shape=[1, 2, 4])
        return %y
    After:
        input %x: f32[2,4] @candidate
        %y: f32[1,2,4] @candidate = reshape(%x, shape=[1, 2, 4])
        return %y
    """
    if not isinstance(op, Expand):
        return None
    gained = len(op.shape) - inputs[0].type.rank
    if op.shape != (1,) * gained + inputs[0].type.shape:
        return None
    return Reshape(op.shape), inputs


def slice_of_slice(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Two slices along one axis are one.

    Before:
        input %x: f32[1,10] @candidate
        %a: f32[1,8] @candidate = slice(%x, axis=1, start=1, stop=9)
        %b: f32[1,3] @candidate = slice(%a, axis=1, start=2, stop=8, step=2)
        return %b
    After:
        input %x: f32[1,10] @candidate
        %b: f32[1,3] @candidate = slice(%x, axis=1, start=3, stop=8, step=2)
        return %b
    """
    if not isinstance(op, Slice) or not isinstance(op.stop, int):
        return None
    inner = rewriter.made_by(inputs[0], Slice)
    if inner is None or inner[0].axis != op.axis or not isinstance(inner[0].stop, int):
        return None
    first = inner[0]
    count = -(-(op.stop - op.start) // op.step)
    start, step = first.start + op.start * first.step, first.step * op.step
    stop = start + (count - 1) * step + 1 if count else start
    return Slice(op.axis, start, stop, step), inner[1]


def slice_to_the_end_of_its_last_step(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A slice ends behind the last element that it takes; one of at most one element has step 1.

    Before:
        input %x: f32[1,10] @candidate
        %y: f32[1,3] @candidate = slice(%x, axis=1, start=0, stop=9, step=3)
        return %y
    After:
        input %x: f32[1,10] @candidate
        %y: f32[1,3] @candidate = slice(%x, axis=1, start=0, stop=7, step=3)
        return %y
    """
    if not isinstance(op, Slice) or not isinstance(op.stop, int) or op.step == 1:
        return None
    count = -(-(op.stop - op.start) // op.step)
    stop = op.start + (count - 1) * op.step + 1 if count else op.start
    step = op.step if count > 1 else 1
    changed = Slice(op.axis, op.start, stop, step)
    return None if changed == op else (changed, inputs)


def take_to_slice(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A take at equal distances is a slice.

    Before:
        input %x: f32[1,10] @candidate
        %y: f32[1,3] @candidate = take(%x, axis=1, indices=[1, 3, 5])
        return %y
    After:
        input %x: f32[1,10] @candidate
        %y: f32[1,3] @candidate = slice(%x, axis=1, start=1, stop=6, step=2)
        return %y
    """
    if not isinstance(op, Take) or not op.indices:
        return None
    first, last, count = op.indices[0], op.indices[-1], len(op.indices)
    step = (last - first) // (count - 1) if count > 1 else 1
    if step < 1 or op.indices != tuple(range(first, last + 1, step)):
        return None
    return Slice(op.axis, first, last + 1, step), inputs


def take_of_part(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A take of a slice or take along the same axis is one take, and so is a slice of a take.

    Before:
        input %x: f32[1,10] @candidate
        %a: f32[1,8] @candidate = slice(%x, axis=1, start=2, stop=10)
        %y: f32[1,3] @candidate = take(%a, axis=1, indices=[0, 1, 0])
        return %y
    After:
        input %x: f32[1,10] @candidate
        %y: f32[1,3] @candidate = take(%x, axis=1, indices=[2, 3, 2])
        return %y
    """
    if not isinstance(op, Slice | Take):
        return None
    inner = rewriter.made_by(inputs[0], Take)
    if inner is None and isinstance(op, Take):
        inner = rewriter.made_by(inputs[0], Slice)
    if inner is None or inner[0].axis != op.axis:
        return None
    positions = _positions(inner[0])
    picked = _positions(op)
    if positions is None or picked is None:
        return None
    return Take(op.axis, tuple(positions[index] for index in picked)), inner[1]


def _positions(op: Slice | Take) -> tuple[int, ...] | range | None:
    if isinstance(op, Take):
        return op.indices
    return range(op.start, op.stop, op.step) if isinstance(op.stop, int) else None


def view_of_fill(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A view of a fill is a fill.

    Before:
        input %x: f32[1,4] @candidate
        %ones: f32[4] @once = fill(shape=[4], value=1, dtype=f32)
        %row: f32[1,4] @once = reshape(%ones, shape=[1, 4])
        %y: f32[1,4] @candidate = binary(%x, %row, function="add")
        return %y
    After:
        input %x: f32[1,4] @candidate
        %row: f32[1,4] @once = fill(shape=[1, 4], value=1, dtype=f32)
        %y: f32[1,4] @candidate = binary(%x, %row, function="add")
        return %y
    """
    if not isinstance(op, Reshape | Permute | Expand | Slice | Take):
        return None
    fill = rewriter.made_by(inputs[0], Fill)
    if fill is None:
        return None
    (result,) = op.infer((inputs[0].type,))
    return Fill(result.shape, fill[0].value, fill[0].dtype), ()


VIEW_RULES: tuple[Rule, ...] = (
    view_of_nothing,
    view_of_fill,
    reshape_of_reshape,
    permute_of_permute,
    permute_of_ones,
    expand_of_expand,
    expand_to_ones,
    slice_of_slice,
    slice_to_the_end_of_its_last_step,
    take_to_slice,
    take_of_part,
)
