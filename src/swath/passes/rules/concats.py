"""Concats of little, of concats and of slices; slices of concats."""

from __future__ import annotations

from bisect import bisect_right

from swath.graph.ir import Value
from swath.graph.ops import Concat, Expand, Fill, Slice
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, is_static, types


def concat_of_one(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A concat of one part is that part.

    Before:
        input %x: f32[1,4] @candidate
        %y: f32[1,4] @candidate = concat(%x, axis=1)
        return %y
    After:
        input %x: f32[1,4] @candidate
        return %x
    """
    return inputs[0] if isinstance(op, Concat) and len(inputs) == 1 else None


def concat_of_empty(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Parts without elements go.

    Before:
        input %x: f32[1,4] @candidate
        %none: f32[1,0] @candidate = slice(%x, axis=1, start=2, stop=2)
        %more: f32[1,4] @candidate = unary(%x, function="exp")
        %y: f32[1,8] @candidate = concat(%none, %x, %more, axis=1)
        return %y
    After:
        input %x: f32[1,4] @candidate
        %more: f32[1,4] @candidate = unary(%x, function="exp")
        %y: f32[1,8] @candidate = concat(%x, %more, axis=1)
        return %y
    """
    if not isinstance(op, Concat):
        return None
    kept = tuple(part for part in inputs if part.type.shape[op.axis] != 0)
    return (op, kept) if 0 < len(kept) < len(inputs) else None


def concat_of_concat(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A concat that only another concat along the same axis reads gives it its parts.

    Before:
        input %x: f32[1,4] @candidate
        %e: f32[1,4] @candidate = unary(%x, function="exp")
        %a: f32[1,8] @candidate = concat(%x, %e, axis=1)
        %t: f32[1,4] @candidate = unary(%x, function="tanh")
        %y: f32[1,12] @candidate = concat(%a, %t, axis=1)
        return %y
    After:
        input %x: f32[1,4] @candidate
        %e: f32[1,4] @candidate = unary(%x, function="exp")
        %t: f32[1,4] @candidate = unary(%x, function="tanh")
        %y: f32[1,12] @candidate = concat(%x, %e, %t, axis=1)
        return %y
    """
    if not isinstance(op, Concat) or _is_inner(rewriter, op):
        return None
    parts: list[Value] = []
    stack = [*reversed(inputs)]
    while stack:
        part = stack.pop()
        inner = rewriter.made_by(part, Concat) if rewriter.uses(part) == 1 else None
        if inner is not None and inner[0].axis == op.axis:
            stack.extend(reversed(inner[1]))
        else:
            parts.append(part)
    return (op, tuple(parts)) if len(parts) > len(inputs) else None


def _is_inner(rewriter: Rewriter, op: Concat) -> bool:
    """True if a concat that reads this one alone will take its parts anyway: were each to take
    those of the one before, a chain of them would be copied again and again."""
    readers = rewriter.readers.get(rewriter.like, ())
    if rewriter.uses(rewriter.like) != 1 or len(readers) != 1:
        return False
    reader = readers[0].op
    return isinstance(reader, Concat) and reader.axis == op.axis


def concat_of_slices(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Slices of one value that lie side by side are one slice.

    Before:
        input %x: f32[2,8] @candidate
        %a: f32[2,3] @candidate = slice(%x, axis=1, start=1, stop=4)
        %b: f32[2,2] @candidate = slice(%x, axis=1, start=4, stop=6)
        %y: f32[2,5] @candidate = concat(%a, %b, axis=1)
        return %y
    After:
        input %x: f32[2,8] @candidate
        %y: f32[2,5] @candidate = slice(%x, axis=1, start=1, stop=6)
        return %y
    """
    if not isinstance(op, Concat) or not is_static(*inputs):
        return None
    runs: list[_Run] = []
    for part in inputs:
        run = _run(rewriter, part, op.axis)
        if runs and run.start >= 0 and (run.source, run.start) == (runs[-1].source, runs[-1].stop):
            runs[-1] = _Run(None, run.source, runs[-1].start, run.stop)
        else:
            runs.append(run)
    if len(runs) == len(inputs):
        return None
    if len(runs) == 1:
        return Slice(op.axis, runs[0].start, runs[0].stop), (runs[0].source,)
    parts = tuple(
        run.part or rewriter.add(Slice(op.axis, run.start, run.stop), run.source) for run in runs
    )
    return op, parts


class _Run:
    """[start, stop) of `source` along an axis; `part` if it is a value already."""

    __slots__ = ("part", "source", "start", "stop")

    def __init__(self, part: Value | None, source: Value, start: int, stop: int) -> None:
        self.part = part
        self.source = source
        self.start = start
        self.stop = stop


def _run(rewriter: Rewriter, part: Value, axis: int) -> _Run:
    inner = rewriter.made_by(part, Slice)
    if inner is not None:
        op, (source,) = inner
        if op.axis == axis and op.step == 1 and isinstance(op.stop, int):
            return _Run(part, source, op.start, op.stop)
    return _Run(part, part, -1, -1)


def concat_of_repeats(_rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """One value of size 1 again and again is an expand.

    Before:
        input %x: f32[1,1,4] @candidate
        %y: f32[1,3,4] @candidate = concat(%x, %x, %x, axis=1)
        return %y
    After:
        input %x: f32[1,1,4] @candidate
        %y: f32[1,3,4] @candidate = expand(%x, shape=[1, 3, 4])
        return %y
    """
    if not isinstance(op, Concat) or len(inputs) < 2 or set(inputs) != {inputs[0]}:
        return None
    shape = inputs[0].type.shape
    if shape[op.axis] != 1:
        return None
    return Expand((*shape[: op.axis], len(inputs), *shape[op.axis + 1 :])), inputs[:1]


def concat_of_fills(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Fills of one value side by side are one fill.

    Before:
        input %x: f32[1,5] @candidate
        %a: f32[1,2] @once = fill(shape=[1, 2], value=1, dtype=f32)
        %b: f32[1,3] @once = fill(shape=[1, 3], value=1, dtype=f32)
        %c: f32[1,5] @once = concat(%a, %b, axis=1)
        %y: f32[1,5] @candidate = binary(%x, %c, function="add")
        return %y
    After:
        input %x: f32[1,5] @candidate
        %c: f32[1,5] @once = fill(shape=[1, 5], value=1, dtype=f32)
        %y: f32[1,5] @candidate = binary(%x, %c, function="add")
        return %y
    """
    if not isinstance(op, Concat):
        return None
    number: float = 0
    for index, part in enumerate(inputs):
        fill = rewriter.made_by(part, Fill)
        # The text tells -0.0 from 0.0.
        if fill is None or (index and repr(fill[0].value) != repr(number)):
            return None
        number = fill[0].value
    (result,) = op.infer(types(inputs))
    return Fill(result.shape, number, result.dtype), ()


def slice_of_concat(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A slice inside of one part of a concat is a slice of that part.

    Before:
        input %x: f32[2,4] @candidate
        %e: f32[2,4] @candidate = unary(%x, function="exp")
        %c: f32[2,8] @candidate = concat(%x, %e, axis=1)
        %y: f32[2,2] @candidate = slice(%c, axis=1, start=5, stop=7)
        return %y
    After:
        input %x: f32[2,4] @candidate
        %e: f32[2,4] @candidate = unary(%x, function="exp")
        %y: f32[2,2] @candidate = slice(%e, axis=1, start=1, stop=3)
        return %y
    """
    if not isinstance(op, Slice) or not isinstance(op.stop, int) or op.stop == op.start:
        return None
    inner = rewriter.made_by(inputs[0], Concat)
    if inner is None or inner[0].axis != op.axis or not is_static(*inputs):
        return None
    starts = rewriter.part_starts(inputs[0])
    index = bisect_right(starts, op.start) - 1
    begin, end = starts[index], starts[index + 1]
    if op.stop > end:
        return None
    return Slice(op.axis, op.start - begin, op.stop - begin, op.step), (inner[1][index],)


CONCAT_RULES: tuple[Rule, ...] = (
    concat_of_one,
    concat_of_empty,
    concat_of_concat,
    concat_of_fills,
    concat_of_repeats,
    concat_of_slices,
    slice_of_concat,
)
