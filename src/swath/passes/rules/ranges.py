"""Values that are a run of elements of another value.

In row form the leading axes mostly have size 1, so that slices, concats and reshapes mostly deal
with whole runs of elements in row-major order. A value that is the elements [start, start + size)
of another one is best read from there, whatever slices, concats and reshapes lie between.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import prod

from swath.graph.ir import Value
from swath.graph.ops import Concat, Reshape, Slice
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, is_static, types


@dataclass(slots=True)
class _Run:
    """`size` elements of `source` from `start` on; `links` counts the views between."""

    source: Value
    start: int
    size: int
    links: int = 0


def view_of_run(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A slice or reshape of a run is read from where the run lies.

    Before:
        input %x: f32[1,4] @candidate
        %e: f32[1,4] @candidate = unary(%x, function="exp")
        %c: f32[1,8] @candidate = concat(%x, %e, axis=1)
        %r: f32[1,2,4] @candidate = reshape(%c, shape=[1, 2, 4])
        %s: f32[1,1,4] @candidate = slice(%r, axis=1, start=1, stop=2)
        %y: f32[1,4] @candidate = reshape(%s, shape=[1, 4])
        return %y
    After:
        input %x: f32[1,4] @candidate
        %e: f32[1,4] @candidate = unary(%x, function="exp")
        return %e
    """
    if not isinstance(op, Slice | Reshape) or not is_static(*inputs):
        return None
    (result,) = op.infer((inputs[0].type,))
    start = 0 if isinstance(op, Reshape) else _slice_start(op, inputs[0])
    if start is None or result.elements == 0:
        return None
    run = _follow(rewriter, _Run(inputs[0], start, result.elements, 1))
    return _read(rewriter, run, result.static_shape)


def concat_of_runs(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Runs that lie side by side are one run.

    Before:
        input %x: f32[1,3,4] @candidate
        %a: f32[1,1,4] @candidate = slice(%x, axis=1, start=1, stop=2)
        %b: f32[1,1,4] @candidate = slice(%x, axis=1, start=2, stop=3)
        %c: f32[1,4] @candidate = reshape(%a, shape=[1, 4])
        %d: f32[1,4] @candidate = reshape(%b, shape=[1, 4])
        %y: f32[1,8] @candidate = concat(%c, %d, axis=1)
        return %y
    After:
        input %x: f32[1,3,4] @candidate
        %y.slice: f32[1,2,4] @candidate = slice(%x, axis=1, start=1, stop=3)
        %y: f32[1,8] @candidate = reshape(%y.slice, shape=[1, 8])
        return %y
    """
    if not isinstance(op, Concat) or len(inputs) < 2 or not _joins_runs(op, inputs):
        return None
    merged: list[tuple[_Run, list[Value]]] = []
    for part in inputs:
        run = _follow(rewriter, _Run(part, 0, part.type.elements))
        last = merged[-1][0] if merged else None
        if last is not None and (run.source, run.start) == (last.source, last.start + last.size):
            last.size += run.size
            merged[-1][1].append(part)
        else:
            merged.append((run, [part]))
    if len(merged) == len(inputs):
        return None
    if len(merged) == 1:
        return _joined(rewriter, op, *merged[0])
    return op, tuple(_part(rewriter, op, run, parts) for run, parts in merged)


def _part(rewriter: Rewriter, op: Concat, run: _Run, parts: list[Value]) -> Value:
    if len(parts) == 1:
        return parts[0]
    made = _joined(rewriter, op, run, parts)
    if made is None or isinstance(made, Value):
        return made or parts[0]
    return rewriter.add(made[0], *made[1])


def _joined(rewriter: Rewriter, op: Concat, run: _Run, parts: list[Value]) -> Made:
    (result,) = op.infer(types(tuple(parts)))
    # However many views it takes, there were more parts.
    run.links = _MOST_LINKS + 1
    return _read(rewriter, run, result.static_shape)


# A flat view of the source, a slice of it, and the shape wanted.
_MOST_LINKS = 3


def _follow(rewriter: Rewriter, run: _Run) -> _Run:
    """The same run, of a value that is no view of another one in which it is a run."""
    while True:
        node = rewriter.producer(run.source)
        if node is None:
            return run
        if isinstance(node.op, Concat):
            # Its parts are static as it is; there may be thousands.
            if not _enter_part(rewriter, run, node.op, node.inputs):
                return run
        elif isinstance(node.op, Reshape | Slice) and is_static(*node.inputs):
            source = node.inputs[0]
            start = 0 if isinstance(node.op, Reshape) else _slice_start(node.op, source)
            if start is None:
                return run
            run.source, run.start = source, run.start + start
        else:
            return run
        run.links += 1


def _slice_start(op: Slice, source: Value) -> int | None:
    """Where a slice begins in its source, None if it is no run of it."""
    shape = source.type.static_shape
    if op.step != 1 or prod(shape[: op.axis]) != 1:
        return None
    return op.start * prod(shape[op.axis + 1 :])


def _enter_part(rewriter: Rewriter, run: _Run, op: Concat, parts: tuple[Value, ...]) -> bool:
    shape = run.source.type.static_shape
    if run.size == 0 or prod(shape[: op.axis]) != 1:
        return False
    starts = rewriter.part_starts(run.source)
    stride = prod(shape[op.axis + 1 :])
    index = bisect_right(starts, run.start // stride) - 1
    begin, end = starts[index] * stride, starts[index + 1] * stride
    if run.start + run.size > end or parts[index].type.space is not run.source.type.space:
        return False
    run.source, run.start = parts[index], run.start - begin
    return True


def _read(rewriter: Rewriter, run: _Run, shape: tuple[int, ...]) -> Made:
    """The run in `shape`, if that takes fewer views than there are."""
    source = run.source
    if run.size == source.type.elements:
        if source.type.shape == shape:
            return source
        return (Reshape(shape), (source,)) if run.links > 1 else None
    sizes = source.type.static_shape
    axis = next(axis for axis, size in enumerate(sizes) if size > 1)
    stride = prod(sizes[axis + 1 :])
    if run.start % stride or run.size % stride:
        if run.links <= _MOST_LINKS:
            return None
        source = rewriter.add(Reshape((1, source.type.elements)), source)
        sizes, axis, stride = source.type.static_shape, 1, 1
    first, count = run.start // stride, run.size // stride
    part = Slice(axis, first, first + count)
    sliced = (*sizes[:axis], count, *sizes[axis + 1 :])
    if sliced == shape:
        return (part, (source,)) if run.links > 1 else None
    if run.links <= 2:
        return None
    return Reshape(shape), (rewriter.add(part, source),)


def concat_of_reshaped_concat(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A concat that only another concat reads, through a reshape, gives it its parts.

    Before:
        input %x: f32[1,1,4] @candidate
        input %t: f32[1,2] @candidate
        %e: f32[1,1,4] @candidate = unary(%x, function="exp")
        %a: f32[1,1,8] @candidate = concat(%x, %e, axis=2)
        %r: f32[1,8] @candidate = reshape(%a, shape=[1, 8])
        %y: f32[1,10] @candidate = concat(%r, %t, axis=1)
        return %y
    After:
        input %x: f32[1,1,4] @candidate
        input %t: f32[1,2] @candidate
        %e: f32[1,1,4] @candidate = unary(%x, function="exp")
        %y.reshape: f32[1,4] @candidate = reshape(%x, shape=[1, 4])
        %y.reshape_1: f32[1,4] @candidate = reshape(%e, shape=[1, 4])
        %y: f32[1,10] @candidate = concat(%y.reshape, %y.reshape_1, %t, axis=1)
        return %y
    """
    if not isinstance(op, Concat) or not _joins_runs(op, inputs):
        return None
    before, after = (
        inputs[0].type.static_shape[: op.axis],
        inputs[0].type.static_shape[op.axis + 1 :],
    )
    parts: list[Value] = []
    for part in inputs:
        inner = _private_parts(rewriter, part, prod(after))
        for value in inner or ():
            shape = (*before, value.type.elements // prod(after), *after)
            parts.append(rewriter.add(Reshape(shape), value))
        if inner is None:
            parts.append(part)
    return (op, tuple(parts)) if len(parts) > len(inputs) else None


def _private_parts(rewriter: Rewriter, value: Value, stride: int) -> Inputs | None:
    """The parts of a concat of runs that `value` is a reshape of, if nothing else reads it."""
    reshape = rewriter.made_by(value, Reshape)
    if reshape is None or rewriter.uses(value) != 1 or rewriter.uses(reshape[1][0]) != 1:
        return None
    inner = rewriter.made_by(reshape[1][0], Concat)
    if inner is None or not _joins_runs(*inner):
        return None
    return inner[1] if all(part.type.elements % stride == 0 for part in inner[1]) else None


def _joins_runs(op: Concat, parts: Inputs) -> bool:
    """True if the parts lie one behind the other in the result."""
    shape = parts[0].type.shape
    if not is_static(*parts) or 0 in shape:
        return False
    return prod(parts[0].type.static_shape[: op.axis]) == 1


RANGE_RULES: tuple[Rule, ...] = (view_of_run, concat_of_runs, concat_of_reshaped_concat)
