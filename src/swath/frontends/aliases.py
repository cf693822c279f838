"""In-place operations without memory: what a tensor holds after its storage was written.

A `Tensor` is a view of a `Storage`: the view ops that lead from the storage's value to the
tensor's, and the version of the storage for which the tensor's value was computed. Writing through
a view rebuilds the value of the storage around the new part; reading a view of an older version
applies its view ops again. So in-place operations become ordinary ones, through any number of
views.
"""

from __future__ import annotations

from dataclasses import dataclass

from swath.frontends.context import Context
from swath.frontends.refusals import state_changed
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Value
from swath.graph.ops import Concat, Expand, Op, Permute, Reshape, Slice, Take

_VIEW_OPS = (Reshape, Permute, Slice, Take, Expand)


@dataclass(slots=True, eq=False)
class Storage:
    """A piece of memory: what it holds now, and how often it was written. `stored` names the
    parameter or buffer that it is."""

    value: Value
    version: int = 0
    stored: str = ""


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor of the program: a view of a storage."""

    storage: Storage
    chain: tuple[Op, ...]
    value: Value
    version: int = 0


def fresh(value: Value, stored: str = "") -> Tensor:
    """A tensor with a storage of its own."""
    return Tensor(Storage(value, 0, stored), (), value)


def read(context: Context, tensor: Tensor) -> Value:
    """What the tensor holds now."""
    if tensor.version != tensor.storage.version:
        value = tensor.storage.value
        for op in tensor.chain:
            value = context.add(op, value)
        tensor.value, tensor.version = value, tensor.storage.version
    return tensor.value


def view(context: Context, source: Tensor, value: Value) -> Tensor:
    """A tensor with `value`, which shares memory with `source` if view ops alone lead to it."""
    chain = _view_chain(context, source.value, value)
    if chain is None:
        return fresh(value)
    return Tensor(source.storage, source.chain + chain, value, source.storage.version)


def _view_chain(context: Context, start: Value, end: Value) -> tuple[Op, ...] | None:
    ops: list[Op] = []
    while end is not start:
        node = context.producers.get(end)
        if node is None or not isinstance(node.op, _VIEW_OPS):
            return None
        ops.append(node.op)
        (end,) = node.inputs
    return tuple(reversed(ops))


def write(context: Context, tensor: Tensor, value: Value) -> Tensor:
    """Set all elements of a tensor; the value must have its type. Raises Unsupported if that
    changes the model itself."""
    if tensor.storage.stored:
        raise state_changed(tensor.storage.stored)
    steps = [tensor.storage.value]
    for op in tensor.chain[:-1]:
        steps.append(context.add(op, steps[-1]))
    whole = value
    for op, before in zip(reversed(tensor.chain), reversed(steps), strict=False):
        whole = _put_back(context, op, before, whole)
    storage = tensor.storage
    storage.value = whole
    storage.version += 1
    tensor.value, tensor.version = value, storage.version
    return tensor


def _put_back(context: Context, op: Op, before: Value, part: Value) -> Value:
    """`before` with what `op` shows of it replaced by `part`."""
    match op:
        case Reshape():
            return context.reshape(part, before.type.shape)
        case Permute(axes):
            return context.permute(part, [axes.index(axis) for axis in range(len(axes))])
        case Slice(axis, start, stop, step):
            return _put_slice(context, before, part, axis, start, stop, step)
        case Take(axis, indices):
            return _put_positions(context, before, part, axis, indices)
        case _:
            raise Unsupported(
                "SW020",
                f"`{context.op}` writes to an expanded tensor",
                "several of its elements are one place in memory",
                "call .clone() on the expanded tensor, or use the operation that is not in place",
            )


def _put_slice(
    context: Context, before: Value, part: Value, axis: int, start: int, stop: object, step: int
) -> Value:
    size = before.type.shape[axis]
    if not isinstance(size, int) or not isinstance(stop, int):
        return part
    if step != 1:
        return _put_positions(context, before, part, axis, tuple(range(start, stop, step)))
    pieces = [context.slice(before, axis, 0, start)] if start else []
    pieces.append(part)
    if stop < size:
        pieces.append(context.slice(before, axis, stop, size))
    return context.concat(pieces, axis)


def _put_positions(
    context: Context, before: Value, part: Value, axis: int, indices: tuple[int, ...]
) -> Value:
    size = before.type.shape[axis]
    assert isinstance(size, int)
    # Of the two one behind the other, each position is taken from the part where it was written.
    both = context.add(Concat(axis), before, part)
    source = list(range(size))
    for place, index in enumerate(indices):
        source[index] = size + place
    return context.add(Take(axis, tuple(source)), both)
