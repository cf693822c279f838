"""What every op declares: fields, shape rule, row rule, reference, cost.

An op is a frozen dataclass; its fields are the attributes. The set of ops is closed: first ask
whether a new one is a composition of those that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import gcd, prod
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from swath.graph.types import BatchSize, Dim, RaggedSize, Shape, Space, TensorType

Array = npt.NDArray[Any]
Types = tuple[TensorType, ...]


class ShapeError(ValueError):
    """The inputs of an op don't fit it; the message names the op and the types."""


class RowRuleError(ValueError):
    """An op mixes rows, so that it has no row form; the message says what the op does ("sums over
    the batch axis") and `fix`, if any, what to do about it in the model."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


class RowNumberError(RowRuleError):
    """An op uses the position of a row in the batch as a number."""


@dataclass(frozen=True, slots=True)
class RowAxis:
    """Where the batch sits in a value: axis `axis` is laid out [pre, batch, post].

    `number` is set on row numbers (`arange(batch)` and what follows from it): the value at row b
    is `number * b` plus what the row form computes, which is 0 unless `offset` is set.

    The axis of ragged values counts as a batch axis as well (of positions, with pre = post = 1);
    the dimension in the type of the value tells which of the two it is.
    """

    axis: int
    pre: int = 1
    post: int = 1
    number: int = 0
    offset: bool = False


# Where the batch sits in each of several values; None for a value that has no batch, which is the
# same for all rows.
Rows = tuple[RowAxis | None, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Work per row: floating point operations (a multiply-add is two) and bytes of parameters
    (weights or table rows) read."""

    flops: float = 0.0
    parameter_bytes: float = 0.0


@dataclass(frozen=True)
class Op:
    """Base of all ops."""

    name: ClassVar[str] = ""
    # True for the few ops that take row numbers (see RowAxis) and give them on.
    takes_row_numbers: ClassVar[bool] = False
    # True for ops that take offsets with the end of the last bag (BatchSize.extra).
    takes_bag_ends: ClassVar[bool] = False

    def infer(self, inputs: Types) -> Types:
        """Output types from input types, spaces aside. Raises ShapeError."""
        raise NotImplementedError(type(self).__name__)

    def row(self, types: Types, rows: Rows) -> Rows:
        """Where the batch sits in each output (None: no batch). Raises RowRuleError.

        `types` are the batched input types, `rows` where the batch sits in each input. Called by
        `result_rows`, which has checked row numbers and bag ends.
        """
        raise NotImplementedError(type(self).__name__)

    def reference(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """The result in NumPy, in the precision of the inputs."""
        raise NotImplementedError(type(self).__name__)

    def cost(self, inputs: Types, outputs: Types) -> Cost:
        """Work per row in row form."""
        return Cost()

    def refuse(self, inputs: Types, why: str) -> ShapeError:
        """The error that says why `inputs` don't fit this op."""
        return ShapeError(f"{self} of ({', '.join(map(str, inputs))}): {why}")

    def expect_inputs(self, inputs: Types, least: int, most: int | None = None) -> None:
        """Raises ShapeError unless there are `least` to `most` inputs (exactly `least`)."""
        if not least <= len(inputs) <= (least if most is None else most):
            wanted = f"{least}" if most in (None, least) else f"{least} to {most}"
            raise self.refuse(inputs, f"takes {wanted} inputs, got {len(inputs)}")

    def expect_axes(self, inputs: Types, rank: int, *axes: int) -> None:
        """Raises ShapeError unless `axes` are different axes of `rank`, counted from 0."""
        for axis in axes:
            if not 0 <= axis < rank:
                raise self.refuse(inputs, f"axis {axis} is not in 0..{rank - 1}")
        if len(set(axes)) != len(axes):
            raise self.refuse(inputs, f"axes {axes} repeat")

    def broadcast(self, inputs: Types, *shapes: Shape) -> Shape:
        """The shape that `shapes` broadcast to. Raises ShapeError."""
        try:
            return broadcast_shapes(*shapes)
        except ShapeError as error:
            raise self.refuse(inputs, str(error)) from None

    def result_types(self, inputs: Types) -> Types:
        """`infer`, with the row space that holds all inputs."""
        space = join_spaces(tuple(type.space for type in inputs))
        return tuple(type.with_space(space) for type in self.infer(inputs))

    def result_rows(self, types: Types, rows: Rows) -> Rows:
        """`row`, after the checks that all ops share. Raises RowRuleError."""
        if not self.takes_row_numbers and any(row and row.number for row in rows):
            raise RowNumberError("uses the position of a row in the batch as a number")
        if not self.takes_bag_ends and any(_has_bag_end(type) for type in types):
            raise RowRuleError("changes the offsets of bags", "pass the offsets on as they are")
        return self.row(types, rows)

    def bind(self, batch: int) -> Self:
        """The op with every batch size among its fields set to its size at `batch` rows."""
        changed = {
            field.name: _bound(getattr(self, field.name), batch)
            for field in fields(self)
            if _mentions_batch(getattr(self, field.name))
        }
        return replace(self, **changed) if changed else self


def join_spaces(spaces: tuple[Space | None, ...]) -> Space | None:
    """The smallest space that holds values of all `spaces`; None if all are None.

    ONCE is inside of every other space. Two different other spaces have no join here: `expand`
    must bring them together first (ValueError).
    """
    wide = {space for space in spaces if space is not None and space is not Space.ONCE}
    if len(wide) > 1:
        raise ValueError(f"no expand between {sorted(space.value for space in wide)}")
    if wide:
        return wide.pop()
    return Space.ONCE if Space.ONCE in spaces else None


def _has_bag_end(type: TensorType) -> bool:
    return any(isinstance(dim, BatchSize) and dim.extra for dim in type.shape)


def _mentions_batch(field: object) -> bool:
    if isinstance(field, BatchSize):
        return True
    return isinstance(field, tuple) and any(
        _mentions_batch(f) for f in cast("tuple[object]", field)
    )


def _bound(field: Any, batch: int) -> Any:
    if isinstance(field, BatchSize):
        return field.multiple * batch + field.extra
    if isinstance(field, tuple):
        return tuple(_bound(f, batch) for f in cast("tuple[Any, ...]", field))
    return field


def normalize_axis(axis: int, rank: int) -> int:
    """A non-negative axis. Raises ShapeError if it is out of range."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy broadcasting of shapes that may hold batch sizes. Raises ShapeError."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        sizes = {shape[position] for shape in shapes if len(shape) >= -position}
        sizes.discard(1)
        if len(sizes) > 1:
            raise ShapeError(f"cannot broadcast {', '.join(map(format_shape, shapes))}")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def format_shape(shape: Shape) -> str:
    """A shape as the text form writes it: `[B,3]`."""
    return f"[{','.join(map(str, shape))}]"


def product(dims: Shape) -> Dim:
    """The product of dimensions, at most one of which may depend on the call. Raises ShapeError
    if there is no dimension that says it (the square of the batch)."""
    count, symbols = factors(dims)
    if not symbols or count == 0:
        return count
    (symbol, *others) = symbols
    if others or (isinstance(symbol, RaggedSize) and count != 1):
        raise ShapeError(f"the product of {format_shape(dims)} is not a multiple of the batch")
    if isinstance(symbol, RaggedSize):
        return symbol
    return BatchSize(symbol.multiple * count, symbol.extra * count)


def factors(dims: Shape) -> tuple[int, tuple[BatchSize | RaggedSize, ...]]:
    """The product of dimensions as a count and the factors that depend on the call, in a
    canonical order; two shapes hold equally many elements in every call iff these are equal."""
    count = 1
    symbols: list[BatchSize | RaggedSize] = []
    for dim in dims:
        if isinstance(dim, int):
            count *= dim
        elif isinstance(dim, RaggedSize):
            symbols.append(dim)
        else:
            common = gcd(dim.multiple, dim.extra)
            count *= common
            symbols.append(BatchSize(dim.multiple // common, dim.extra // common))
    return (count, tuple(sorted(symbols, key=str))) if count else (0, ())


def row_elements(type: TensorType) -> int:
    """Elements of one row; of ragged values, of one position."""
    return prod(dim for dim in type.shape if isinstance(dim, int))


def parameter_bytes(inputs: Types) -> float:
    """Bytes of the inputs that are the same for all rows."""
    once = (type for type in inputs if type.space is Space.ONCE)
    return sum(type.elements * type.dtype.size for type in once)


def results(*arrays: Any) -> tuple[Array, ...]:
    """What a reference returns: NumPy makes scalars of results without axes, these are arrays."""
    return tuple(np.asarray(array) for array in arrays)


def as_array(value: object, like: Array) -> Array:
    """`value` as an array of the element type of `like`."""
    return np.asarray(value, dtype=like.dtype)
