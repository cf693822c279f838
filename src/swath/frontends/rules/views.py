"""Ops that rearrange elements and alias their input in PyTorch (views), and their relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.rules.elementwise import identity
from swath.frontends.unsupported import mixes_rows, unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Concat, Index, Take
from swath.graph.ops.base import normalize_axis
from swath.graph.types import BatchSize, Dim, RaggedSize


def reshape_to_result(context: Context, x: Value, *_: Any, **__: Any) -> Value:
    """All forms of view and reshape: torch states the shape."""
    return context.reshape(x, context.result.shape)


def expand_to_result(context: Context, x: Value, *_: Any, **__: Any) -> Value:
    """All forms of expand: torch states the shape."""
    return context.expand(x, context.result.shape)


def broadcast_tensors(context: Context, values: Sequence[Value]) -> list[Value]:
    """All values in their common shape."""
    return context.broadcast(values)


def normal_range(context: Context, size: Dim, start: Any, stop: Any) -> tuple[int, Dim]:
    """Start and stop of a slice within 0 .. size. Raises Unsupported if rows are cut off."""
    if isinstance(size, int):
        if not isinstance(start, int | None) or not isinstance(stop, int | None):
            raise mixes_rows(
                context.op, "cuts a fixed axis at a position that depends on the batch"
            )
        begin, end, _ = slice(start, stop).indices(size)
        return begin, max(begin, end)
    whole = stop is None or stop == size or (isinstance(stop, int) and stop > 1 << 40)
    if start in (None, 0) and whole:
        return 0, size
    raise cut_rows(context)


def cut_rows(context: Context) -> Exception:
    """Part of the batch axis is taken."""
    return mixes_rows(context.op, "takes part of the batch axis")


def slice_(
    context: Context, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """x[start:end:step] along an axis."""
    axis = normalize_axis(dim, x.type.rank)
    begin, stop = normal_range(context, x.type.shape[axis], start, end)
    if step != 1 and not isinstance(x.type.shape[axis], int):
        raise cut_rows(context)
    return context.slice(x, axis, begin, stop, step)


def narrow(context: Context, x: Value, dim: int, start: Any, length: Any) -> Value:
    """x[start : start + length] along an axis."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    if isinstance(start, Value):
        start = context.known_scalar(start)
    if start == 0 and length == size:
        return x
    if not (isinstance(start, int) and isinstance(length, int) and isinstance(size, int)):
        raise cut_rows(context)
    return context.slice(x, axis, start % size, start % size + length)


def select(context: Context, x: Value, dim: int, index: Any) -> Value:
    """x[index] along an axis."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    if isinstance(index, Value):
        index = context.known_scalar(index)
    if not isinstance(index, int):
        raise unsupported_form(context.op, "an index that depends on the data")
    if not isinstance(size, int):
        raise mixes_rows(context.op, f"takes row {index} of the batch")
    return context.select(x, axis, index % size)


def permute(context: Context, x: Value, dims: Sequence[int]) -> Value:
    """Axes in another order."""
    return context.permute(x, [normalize_axis(dim, x.type.rank) for dim in dims])


def transpose(context: Context, x: Value, dim0: int, dim1: int) -> Value:
    """Two axes exchanged."""
    if x.type.rank == 0:
        return x
    axes = list(range(x.type.rank))
    first, second = normalize_axis(dim0, x.type.rank), normalize_axis(dim1, x.type.rank)
    axes[first], axes[second] = axes[second], axes[first]
    return context.permute(x, axes)


def last_two_exchanged(context: Context, x: Value) -> Value:
    """t, mT, adjoint: the last two axes exchanged (of a matrix or more)."""
    return x if x.type.rank < 2 else transpose(context, x, -2, -1)


def reversed_axes(context: Context, x: Value) -> Value:
    """x.T: all axes in reverse order."""
    return context.permute(x, range(x.type.rank - 1, -1, -1))


def movedim(context: Context, x: Value, source: Any, destination: Any) -> Value:
    """Some axes moved to other places, the rest in order."""
    rank = x.type.rank
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    moved = {
        normalize_axis(to, rank): normalize_axis(of, rank)
        for of, to in zip(sources, targets, strict=True)
    }
    rest = iter(axis for axis in range(rank) if axis not in moved.values())
    return context.permute(x, [moved[i] if i in moved else next(rest) for i in range(rank)])


def pieces(context: Context, x: Value, axis: int, sizes: Sequence[Any]) -> list[Value]:
    """Consecutive parts of an axis."""
    total = x.type.shape[axis]
    if len(sizes) == 1 and sizes[0] == total:
        return [x]
    if not isinstance(total, int):
        raise cut_rows(context)
    result: list[Value] = []
    start = 0
    for size in sizes:
        result.append(context.slice(x, axis, start, start + size))
        start += size
    return result


def split_with_sizes(
    context: Context, x: Value, split_sizes: Sequence[Any], dim: int = 0
) -> list[Value]:
    """Parts of given sizes."""
    return pieces(context, x, normalize_axis(dim, x.type.rank), split_sizes)


def even_sizes(context: Context, total: Dim, size: Any) -> list[Any]:
    """Sizes of parts of `size` elements, the last one maybe smaller."""
    if total == size:
        return [total]
    if not isinstance(total, int) or not isinstance(size, int):
        raise cut_rows(context)
    if total == 0:
        return [0]
    return [min(size, total - start) for start in range(0, total, size)]


def split(context: Context, x: Value, split_size: Any, dim: int = 0) -> list[Value]:
    """Parts of one size."""
    axis = normalize_axis(dim, x.type.rank)
    return pieces(context, x, axis, even_sizes(context, x.type.shape[axis], split_size))


def chunk(context: Context, x: Value, chunks: int, dim: int = 0) -> list[Value]:
    """A number of parts, the last ones maybe smaller or missing."""
    axis = normalize_axis(dim, x.type.rank)
    total = x.type.shape[axis]
    if chunks == 1:
        return [x]
    if not isinstance(total, int):
        raise cut_rows(context)
    return pieces(context, x, axis, even_sizes(context, total, max(1, -(-total // chunks))))


def tensor_split(context: Context, x: Value, sections: Any, dim: int = 0) -> list[Value]:
    """A number of parts, the first ones maybe larger; or parts between given positions."""
    axis = normalize_axis(dim, x.type.rank)
    total = x.type.shape[axis]
    if not isinstance(total, int):
        raise cut_rows(context)
    if isinstance(sections, int):
        small, larger = divmod(total, sections)
        sizes = [small + (i < larger) for i in range(sections)]
        return pieces(context, x, axis, sizes)
    bounds = [0, *(slice(None, stop).indices(total)[1] for stop in sections), total]
    return [context.slice(x, axis, start, max(start, stop)) for start, stop in pairwise(bounds)]


def unbind(context: Context, x: Value, dim: int = 0) -> list[Value]:
    """All positions of an axis."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise mixes_rows(context.op, "takes the rows of the batch apart")
    return [context.select(x, axis, index) for index in range(size)]


def stack(context: Context, tensors: Sequence[Value], dim: int = 0) -> Value:
    """The values along a new axis."""
    axis = normalize_axis(dim, tensors[0].type.rank + 1)
    dtype = context.result.dtype
    parts = [context.unsqueeze(context.cast(value, dtype), axis) for value in tensors]
    return context.concat(parts, axis)


def cat(context: Context, tensors: Sequence[Value], dim: int = 0) -> Value:
    """The values one behind the other; empty 1-d tensors are left out, as PyTorch does."""
    dtype = context.result.dtype
    parts = [
        context.cast(value, dtype)
        for value in tensors
        if value.type.shape != (0,) or context.result.rank == 1
    ]
    axis = normalize_axis(dim, context.result.rank)
    if len(parts) > 1 and any(not isinstance(part.type.shape[axis], int) for part in parts):
        raise mixes_rows(context.op, "joins tensors along the batch axis")
    return context.concat(parts, axis)


def stacked(axis: int, least_rank: int) -> Rule:
    """hstack, vstack, dstack."""

    def rule(context: Context, tensors: Sequence[Value]) -> Value:
        parts: list[Value] = []
        for value in tensors:
            while value.type.rank < least_rank:
                # vstack puts the new axis in front, dstack a last one behind.
                value = context.unsqueeze(value, value.type.rank if value.type.rank > 1 else 0)
            parts.append(value)
        return cat(context, parts, 0 if parts[0].type.rank == 1 else axis)

    return rule


def repeat(context: Context, x: Value, repeats: Sequence[Any]) -> Value:
    """The whole repeated along each axis."""
    lead = len(repeats) - x.type.rank
    x = context.reshape(x, (*(1,) * lead, *x.type.shape))
    before: list[Dim] = []
    after: list[Dim] = []
    for size, times in zip(x.type.shape, repeats, strict=True):
        if size == 1:
            before.append(1)
            after.append(times)
        elif times == 1:
            before.append(size)
            after.append(size)
        else:
            before += [1, size]
            after += [times, size]
    x = context.expand(context.reshape(x, before), after)
    return context.reshape(x, context.result.shape)


def tile(context: Context, x: Value, dims: Sequence[Any]) -> Value:
    """`repeat` with missing repeats taken as 1."""
    return repeat(context, x, [1] * (x.type.rank - len(dims)) + list(dims))


def repeat_interleave(
    context: Context, x: Value, repeats: Any, dim: int | None = None, **_: Any
) -> Value:
    """Each element of an axis repeated in place."""
    if dim is None:
        x, dim = context.reshape(x, (flat_size(x),)), 0
    axis = normalize_axis(dim, x.type.rank)
    shape = x.type.shape
    if isinstance(repeats, Value):
        counts = context.known(repeats)
        if counts is None or not isinstance(shape[axis], int):
            raise unsupported_form(context.op, "repeats that depend on the data")
        if counts.size == 1:
            return repeat_interleave(context, x, int(counts.reshape(())), axis)
        positions = [i for i, count in enumerate(counts.tolist()) for _ in range(count)]
        return context.add(Take(axis, tuple(positions)), x)
    x = context.unsqueeze(x, axis + 1)
    x = context.expand(x, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    return context.reshape(x, context.result.shape)


def flat_size(x: Value) -> Dim:
    """The number of elements."""
    multiple, dependent = 1, False
    for dim in x.type.shape:
        if isinstance(dim, BatchSize):
            multiple, dependent = multiple * dim.multiple, True
        elif isinstance(dim, RaggedSize):
            return dim
        else:
            multiple *= dim
    return BatchSize(multiple) if dependent else multiple


def roll(context: Context, x: Value, shifts: Any, dims: Any = ()) -> Value:
    """Elements shifted around an axis."""
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if not dims:
        flat = context.reshape(x, (flat_size(x),))
        return context.reshape(roll(context, flat, shifts, [0]), x.type.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        axis = normalize_axis(dim, x.type.rank)
        size = x.type.shape[axis]
        if not isinstance(size, int):
            raise mixes_rows(context.op, "shifts the rows of the batch")
        cut = -shift % size if size else 0
        if cut:
            parts = (context.slice(x, axis, cut, size), context.slice(x, axis, 0, cut))
            x = context.add(Concat(axis), *parts)
    return x


def flip(context: Context, x: Value, dims: Sequence[int]) -> Value:
    """Axes in reverse."""
    for dim in dims:
        axis = normalize_axis(dim, x.type.rank)
        size = x.type.shape[axis]
        if not isinstance(size, int):
            raise mixes_rows(context.op, "reverses the rows of the batch")
        x = context.add(Take(axis, tuple(range(size - 1, -1, -1))), x)
    return x


def unfold(context: Context, x: Value, dimension: int, size: int, step: int) -> Value:
    """Windows of an axis; the position within a window becomes the last axis."""
    axis = normalize_axis(dimension, x.type.rank)
    length = x.type.shape[axis]
    if not isinstance(length, int):
        raise mixes_rows(context.op, "makes windows over the rows of the batch")
    windows = (length - size) // step + 1
    positions = tuple(w * step + i for w in range(windows) for i in range(size))
    taken = context.add(Take(axis, positions), x)
    shape = x.type.shape
    taken = context.reshape(taken, (*shape[:axis], windows, size, *shape[axis + 1 :]))
    return movedim(context, taken, axis + 1, -1)


def diagonal(context: Context, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonal of two axes as the last axis."""
    rank = x.type.rank
    rows, columns = normalize_axis(dim1, rank), normalize_axis(dim2, rank)
    height, width = x.type.shape[rows], x.type.shape[columns]
    if not isinstance(height, int) or not isinstance(width, int):
        raise mixes_rows(context.op, "runs over the batch axis")
    x = movedim(context, x, [rows, columns], [-2, -1])
    first, second = max(0, -offset), max(0, offset)
    length = max(0, min(height - first, width - second))
    indices = (context.iota(length, first), context.iota(length, second))
    return context.add(Index((rank - 2, rank - 1)), x, *indices)


def meshgrid(context: Context, tensors: Sequence[Value], *, indexing: str = "ij") -> list[Value]:
    """Each 1-d tensor along an axis of its own of a common grid."""
    shape = [flat_size(value) for value in tensors]
    grids: list[Value] = []
    for axis, value in enumerate(tensors):
        column = [shape[axis] if i == axis else 1 for i in range(len(shape))]
        grid = context.expand(context.reshape(value, column), shape)
        grids.append(transpose(context, grid, 0, 1) if indexing == "xy" else grid)
    return grids


RULES: Mapping[str, Rule] = {
    **aliases(reshape_to_result, "view.default", "reshape.default", "_unsafe_view.default",
              "flatten.using_ints", "unflatten.int", "view_as.default", "reshape_as.default",
              "ravel.default", "unsqueeze.default", "squeeze.default", "squeeze.dim",
              "squeeze.dims", "atleast_1d.default", "atleast_2d.default", "atleast_3d.default",
              "_reshape_alias.default"),
    **aliases(expand_to_result, "expand.default", "expand_as.default", "broadcast_to.default"),
    **aliases(broadcast_tensors, "broadcast_tensors.default"),
    **aliases(slice_, "slice.Tensor"),
    **aliases(narrow, "narrow.default", "narrow.Tensor", "narrow_copy.default"),
    **aliases(select, "select.int", "select.Dimname"),
    **aliases(permute, "permute.default"),
    **aliases(transpose, "transpose.int", "swapaxes.default", "swapdims.default"),
    **aliases(last_two_exchanged, "t.default", "mT.default", "adjoint.default",
              "matrix_H.default", "mH.default"),
    **aliases(reversed_axes, "numpy_T.default"),
    **aliases(movedim, "movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist"),
    **aliases(split, "split.Tensor"),
    **aliases(split_with_sizes, "split_with_sizes.default", "split.sizes",
              "split_with_sizes_copy.default"),
    **aliases(chunk, "chunk.default"),
    **aliases(tensor_split, "tensor_split.sections", "tensor_split.indices"),
    **aliases(unbind, "unbind.int"),
    **aliases(stack, "stack.default"),
    **aliases(cat, "cat.default", "concat.default", "concatenate.default"),
    **aliases(stacked(1, 1), "hstack.default"),
    **aliases(stacked(0, 2), "vstack.default", "row_stack.default"),
    **aliases(stacked(2, 3), "dstack.default"),
    **aliases(repeat, "repeat.default"),
    **aliases(tile, "tile.default"),
    **aliases(repeat_interleave, "repeat_interleave.self_int", "repeat_interleave.self_Tensor"),
    **aliases(roll, "roll.default"),
    **aliases(flip, "flip.default"),
    **aliases(unfold, "unfold.default"),
    **aliases(diagonal, "diagonal.default", "diagonal_copy.default"),
    **aliases(meshgrid, "meshgrid.default", "meshgrid.indexing"),
    **aliases(identity, "expand_copy.default", "alias_copy.default", "view_as_real_copy.default"),
}  # fmt: skip

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "view.default", "flatten.using_ints", "reshape.default", "unflatten.int",
        "view_as.default", "reshape_as.default", "ravel.default", "unsqueeze.default",
        "squeeze.default", "squeeze.dim", "squeeze.dims", "atleast_1d.default",
        "atleast_2d.default", "atleast_3d.default", "expand.default", "expand_as.default",
        "broadcast_to.default", "broadcast_tensors.default", "slice.Tensor", "narrow.default",
        "narrow.Tensor", "select.int", "permute.default", "transpose.int", "swapaxes.default",
        "swapdims.default", "t.default", "mT.default", "adjoint.default", "numpy_T.default",
        "movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist", "split.Tensor",
        "split_with_sizes.default", "split.sizes", "chunk.default", "tensor_split.sections",
        "tensor_split.indices", "unbind.int", "diagonal.default", "unfold.default",
        "alias.default", "detach.default", "contiguous.default", "to.dtype", "to.dtype_layout",
        "to.device", "to.other", "type_as.default", "dropout.default", "feature_dropout.default",
        "alpha_dropout.default", "positive.default", "resolve_conj.default",
        "resolve_neg.default", "lift_fresh.default", "real.default", "meshgrid.default",
        "meshgrid.indexing", "requires_grad_.default", "detach_.default",
    )
)  # fmt: skip
"""Ops whose results share memory with their first argument (some only if nothing is copied)."""
