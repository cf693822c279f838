"""What the row rules of the ops have in common.

A rule gets the batched types of the inputs and, for each, where the batch sits in it (None: the
value has no batch, it is the same for all rows).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from swath.graph.ops.base import RowAxis, RowRuleError, Rows, Types
from swath.graph.types import BatchSize, RaggedSize, Shape, TensorType


def aligned_row(types: Types, rows: Rows, rank: int | None = None) -> RowAxis | None:
    """Where the batch sits after broadcasting to `rank` (that of the largest input, if None).

    All inputs must have the batch on the same axis, laid out alike. Row numbers are left out.
    """
    rank = max(type.rank for type in types) if rank is None else rank
    found: RowAxis | None = None
    for type, row in zip(types, rows, strict=True):
        if row is None:
            continue
        here = RowAxis(row.axis + rank - type.rank, row.pre, row.post)
        if found is not None and here.axis != found.axis:
            raise RowRuleError("pairs every row with every other row")
        if found is not None and here != found:
            raise RowRuleError(
                f"pairs rows with other rows (the batch is laid out {_layout(found)} in one "
                f"operand and {_layout(here)} in another)"
            )
        found = here
    return found


def kept_row(
    type: TensorType, row: RowAxis | None, used: Iterable[int], action: str
) -> RowAxis | None:
    """`row` itself, for an op that leaves all axes but `used` alone; `action` ("sums over") says
    what the op does to those."""
    if row is not None and row.axis in tuple(used):
        raise RowRuleError(f"{action} {axis_name(type, row)}")
    return row


def expect_no_batch(types: Types, rows: Rows, what: str) -> None:
    """Raises RowRuleError if any of `rows` is set; `what` names these inputs."""
    for type, row in zip(types, rows, strict=True):
        if row is not None:
            raise RowRuleError(f"has {axis_name(type, row)} in {what}")


def lone_row(shape: Shape) -> RowAxis | None:
    """Where the batch sits in a value that is made in this shape and is the same in all rows."""
    found: RowAxis | None = None
    for axis, dim in enumerate(shape):
        if isinstance(dim, int):
            continue
        if found is not None:
            raise RowRuleError("makes a tensor with the batch on two axes (every row by every row)")
        if isinstance(dim, RaggedSize):
            found = RowAxis(axis)
        elif dim.extra:
            raise RowRuleError("makes a tensor of more than the rows of the batch")
        else:
            # The elements are equal along this axis, so that any layout is right.
            found = RowAxis(axis, post=dim.multiple)
    return found


def moved_row(row: RowAxis | None, axis: int) -> RowAxis | None:
    """`row` on another axis."""
    return None if row is None else replace(row, axis=axis)


def without_axes(row: RowAxis | None, gone: Iterable[int]) -> RowAxis | None:
    """`row` after the axes `gone` (not its own) have been dropped."""
    if row is None:
        return None
    return replace(row, axis=row.axis - sum(axis < row.axis for axis in gone))


def axis_name(type: TensorType, row: RowAxis) -> str:
    """The batch axis of a value in words."""
    dim = type.shape[row.axis]
    return f"the ragged axis of {dim.name}" if isinstance(dim, RaggedSize) else "the batch axis"


def is_whole(size: object, row: RowAxis) -> bool:
    """True for the size of exactly the batch axis `row`, without a bag end."""
    return size == BatchSize(row.pre * row.post)


def _layout(row: RowAxis) -> str:
    sizes = [str(size) for size in (row.pre, "B", row.post) if size != 1]
    return f"[{'*'.join(sizes)}]"
