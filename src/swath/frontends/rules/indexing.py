"""Reading and writing at positions: index, gather, scatter and their relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swath.frontends.context import Context
from swath.frontends.promotion import Operand
from swath.frontends.refusals import missing_rule
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.rules.elementwise import masked_fill
from swath.frontends.rules.views import flat_size, normal_range
from swath.frontends.unsupported import mixes_rows, unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Concat, Gather, Index, IndexPut, Scatter, Take
from swath.graph.ops.base import normalize_axis
from swath.graph.types import DType

# Positions known at import become part of the op up to this many.
_TAKE_LIMIT = 1 << 16


def index(context: Context, x: Value, indices: Sequence[Value | None]) -> Value:
    """x[indices], None meaning the whole axis."""
    axes, values = positions(context, x, indices)
    if not axes:
        return x
    if len(axes) == 1:
        taken = take_known(context, x, axes[0], values[0])
        if taken is not None:
            return taken
    return context.add(Index(tuple(axes)), x, *values)


def positions(
    context: Context, x: Value, indices: Sequence[Value | None]
) -> tuple[list[int], list[Value]]:
    """The indexed axes and an integer tensor for each; known masks become positions.
    Raises Unsupported for masks that depend on the data."""
    axes: list[int] = []
    values: list[Value] = []
    axis = 0
    for value in indices:
        if value is None:
            axis += 1
        elif value.type.dtype in (DType.BOOL, DType.UINT8):
            mask = context.known(value)
            if mask is None:
                raise missing_rule("aten.masked_select.default")
            for hits in np.nonzero(mask):
                axes.append(axis)
                values.append(context.constant("positions", hits.astype(np.int64)))
                axis += 1
            axis += mask.ndim == 0
        else:
            axes.append(axis)
            values.append(value)
            axis += 1
    del x
    return axes, values


def take_known(context: Context, x: Value, axis: int, value: Value) -> Value | None:
    """x at positions known at import; None if they aren't, or along the batch."""
    size = x.type.shape[axis]
    if not isinstance(size, int) or value.type.has_batch:
        return None
    known = context.known(value)
    if known is None or known.size > _TAKE_LIMIT or known.size == 0:
        return None
    if known.min() < -size or known.max() >= size:
        return None
    taken = context.add(Take(axis, tuple((known.reshape(-1) % size).tolist())), x)
    shape = x.type.shape
    return context.reshape(taken, (*shape[:axis], *known.shape, *shape[axis + 1 :]))


def index_select(context: Context, x: Value, dim: int, index: Value) -> Value:
    """x at positions along an axis."""
    if x.type.rank == 0:
        return x
    axis = normalize_axis(dim, x.type.rank)
    flat = context.reshape(index, (flat_size(index),))
    taken = take_known(context, x, axis, flat)
    return context.add(Index((axis,)), x, flat) if taken is None else taken


def take(context: Context, x: Value, index: Value) -> Value:
    """Elements of x as if it had one axis."""
    flat = context.reshape(x, (flat_size(x),))
    return context.add(Index((0,)), flat, index)


def gather(
    context: Context, x: Value, dim: int, index: Value, *, sparse_grad: bool = False
) -> Value:
    """x at the positions `index` along an axis."""
    del sparse_grad
    if x.type.rank == 0:
        return context.reshape(x, index.type.shape)
    return context.add(Gather(normalize_axis(dim, x.type.rank)), x, index)


def take_along(context: Context, x: Value, indices: Value, dim: int | None = None) -> Value:
    """`gather` after broadcasting of the other axes."""
    if dim is None:
        flat = context.reshape(x, (flat_size(x),))
        return context.add(Gather(0), flat, context.reshape(indices, (flat_size(indices),)))
    axis = normalize_axis(dim, x.type.rank)
    lengths = x.type.shape[axis], indices.type.shape[axis]
    others = [b if a == 1 else a for a, b in zip(x.type.shape, indices.type.shape, strict=True)]
    others[axis] = lengths[0]
    x = context.expand(x, others)
    others[axis] = lengths[1]
    return context.add(Gather(axis), x, context.expand(indices, others))


def scatter(function: str) -> Rule:
    """scatter, scatter_add."""

    def rule(
        context: Context, x: Value, dim: int, index: Value, src: Operand, reduce: str | None = None
    ) -> Value:
        if reduce is not None:
            if reduce != "add":
                raise unsupported_form(context.op, f"reduce={reduce!r}")
            return rule_add(context, x, dim, index, src)
        return _scatter(context, function, x, dim, index, src)

    return rule


def rule_add(context: Context, x: Value, dim: int, index: Value, src: Operand) -> Value:
    """scatter_add."""
    return _scatter(context, "add", x, dim, index, src)


def _scatter(
    context: Context, function: str, x: Value, dim: int, index: Value, src: Operand
) -> Value:
    axis = normalize_axis(dim, x.type.rank)
    source = context.typed(context.operand(src), x.type.dtype)
    if source.type.rank == 0:
        source = context.expand(source, index.type.shape)
    if source.type.shape != index.type.shape:
        source = _corner(context, source, index)
    return context.add(Scatter(axis, function), x, index, source)


def _corner(context: Context, source: Value, index: Value) -> Value:
    """The part of the source that the index covers."""
    for axis, size in enumerate(index.type.shape):
        if source.type.shape[axis] != size:
            source = context.slice(source, axis, 0, size)
    return source


def scatter_reduce(
    context: Context,
    x: Value,
    dim: int,
    index: Value,
    src: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    """The form that sums."""
    if reduce != "sum" or not include_self:
        raise unsupported_form(context.op, f"reduce={reduce!r}, include_self={include_self}")
    return rule_add(context, x, dim, index, src)


def index_put(
    context: Context,
    x: Value,
    indices: Sequence[Value | None],
    values: Value,
    accumulate: bool = False,
    *_: Any,
) -> Value:
    """x with x[indices] = values, or += values."""
    values = context.cast(values, x.type.dtype)
    masks = [value for value in indices if value is not None]
    if len(masks) == 1 and masks[0].type.dtype is DType.BOOL and context.known(masks[0]) is None:
        return _put_masked(context, x, indices, masks[0], values, accumulate)
    axes, places = positions(context, x, indices)
    return context.add(IndexPut(tuple(axes), accumulate), x, values, *places)


def _put_masked(
    context: Context,
    x: Value,
    indices: Sequence[Value | None],
    mask: Value,
    values: Value,
    accumulate: bool,
) -> Value:
    """One value (for all hits) where a mask says so."""
    lead = len(indices) - 1
    behind = x.type.rank - lead - mask.type.rank
    if any(dim != 1 for dim in values.type.shape[: max(0, values.type.rank - behind)]):
        raise unsupported_form(context.op, "a mask and a value for each hit")
    shape = (*(1,) * lead, *mask.type.shape, *(1,) * behind)
    mask = context.reshape(mask, shape)
    if values.type.rank > behind:
        values = context.reshape(values, values.type.shape[values.type.rank - behind :])
    if accumulate:
        values = context.binary("add", x, values)
    return context.where(mask, values, x)


def index_add(
    context: Context, x: Value, dim: int, index: Value, source: Value, *, alpha: Operand = 1
) -> Value:
    """x[.., index, ..] += alpha * source."""
    axis = normalize_axis(dim, x.type.rank)
    if not (isinstance(alpha, int) and alpha == 1):
        source = context.binary("mul", source, alpha)
    return _put_along(context, x, axis, index, source, True)


def index_copy(context: Context, x: Value, dim: int, index: Value, source: Value) -> Value:
    """x[.., index, ..] = source."""
    return _put_along(context, x, normalize_axis(dim, x.type.rank), index, source, False)


def index_fill(context: Context, x: Value, dim: int, index: Value, value: Operand) -> Value:
    """x[.., index, ..] = value."""
    axis = normalize_axis(dim, x.type.rank)
    filled = context.typed(context.operand(value), x.type.dtype)
    return context.add(IndexPut((axis,), False), x, filled, index)


def _put_along(
    context: Context, x: Value, axis: int, index: Value, source: Value, accumulate: bool
) -> Value:
    flat = context.reshape(index, (flat_size(index),))
    return context.add(IndexPut((axis,), accumulate), x, source, flat)


def slice_scatter(
    context: Context,
    x: Value,
    src: Value,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Value:
    """x with a slice replaced."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    begin, stop = normal_range(context, size, start, end)
    if not isinstance(size, int) or not isinstance(stop, int):
        return src
    return _replace_positions(context, x, src, axis, range(begin, stop, step))


def select_scatter(context: Context, x: Value, src: Value, dim: int, index: int) -> Value:
    """x with one position of an axis replaced."""
    axis = normalize_axis(dim, x.type.rank)
    size = x.type.shape[axis]
    if not isinstance(size, int):
        raise mixes_rows(context.op, "writes one row of the batch")
    part = context.unsqueeze(src, axis)
    return _replace_positions(context, x, part, axis, range(index % size, index % size + 1))


def _replace_positions(context: Context, x: Value, part: Value, axis: int, places: range) -> Value:
    size = x.type.shape[axis]
    assert isinstance(size, int)
    order = list(range(size))
    for number, place in enumerate(places):
        order[place] = size + number
    both = context.add(Concat(axis), x, context.cast(part, x.type.dtype))
    return context.add(Take(axis, tuple(order)), both)


def bucketize(
    context: Context, x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    """The number of boundaries below (with `right`: not above) each element."""
    del out_int32
    if context.known(boundaries) is None:
        raise unsupported_form(context.op, "boundaries that depend on the data")
    wide = context.unsqueeze(x, x.type.rank)
    # Counted by "not (x <= boundary)", so that NaN lies beyond all boundaries.
    inside = context.binary("lt" if right else "le", wide, boundaries)
    beyond = context.cast(context.unary("logical_not", inside), DType.INT64)
    count = context.reduce("sum", beyond, (x.type.rank,), False)
    return context.cast(count, context.result.dtype)


def searchsorted(
    context: Context,
    boundaries: Value,
    x: Value,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    """bucketize with one sorted row of boundaries."""
    if boundaries.type.rank != 1 or sorter is not None:
        raise unsupported_form(context.op, "a row of boundaries for each row")
    return bucketize(context, x, boundaries, out_int32=out_int32, right=right or side == "right")


def isin(
    context: Context,
    elements: Value,
    test_elements: Value,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Value:
    """Whether each element is one of a fixed set."""
    del assume_unique
    if context.known(test_elements) is None:
        raise unsupported_form(context.op, "a set that depends on the data")
    wide = context.unsqueeze(elements, elements.type.rank)
    flat = context.reshape(test_elements, (flat_size(test_elements),))
    hits = context.binary("eq", wide, flat)
    found = context.reduce("any", hits, (elements.type.rank,), False)
    return context.unary("logical_not", found) if invert else found


def masked_select(context: Context, x: Value, mask: Value) -> Value:
    """The elements at the hits of a mask that depends on no input."""
    x, mask = context.broadcast((x, mask))
    return index(context, x, [mask])


def nonzero(context: Context, x: Value) -> Value:
    """Positions of what isn't zero, for a value that depends on no input."""
    known = context.known(x)
    if known is None:
        raise missing_rule(context.op)
    return context.constant("nonzero", np.argwhere(known).astype(np.int64))


def masked_scatter(context: Context, *_: Any) -> Value:
    """Values in the order of the hits of a mask."""
    raise unsupported_form(context.op, "a mask, whose hits depend on the data")


RULES: Mapping[str, Rule] = {
    **aliases(index, "index.Tensor", "_unsafe_index.Tensor"),
    **aliases(index_select, "index_select.default"),
    **aliases(take, "take.default"),
    **aliases(gather, "gather.default"),
    **aliases(take_along, "take_along_dim.default"),
    **aliases(scatter("set"), "scatter.src", "scatter.value", "scatter.reduce",
              "scatter.value_reduce"),
    **aliases(scatter("add"), "scatter_add.default"),
    **aliases(scatter_reduce, "scatter_reduce.two"),
    **aliases(index_put, "index_put.default", "_unsafe_index_put.default"),
    **aliases(index_add, "index_add.default"),
    **aliases(index_copy, "index_copy.default"),
    **aliases(index_fill, "index_fill.int_Scalar", "index_fill.int_Tensor"),
    **aliases(slice_scatter, "slice_scatter.default"),
    **aliases(select_scatter, "select_scatter.default"),
    **aliases(bucketize, "bucketize.Tensor"),
    **aliases(searchsorted, "searchsorted.Tensor"),
    **aliases(isin, "isin.Tensor_Tensor"),
    **aliases(masked_select, "masked_select.default"),
    **aliases(nonzero, "nonzero.default"),
    **aliases(masked_scatter, "masked_scatter.default"),
    **aliases(masked_fill, "masked_fill.Scalar", "masked_fill.Tensor"),
}  # fmt: skip
