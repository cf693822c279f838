"""The state of one lowering: what each graph value has become, and the kernels so far.

A value is lowered to a View (its elements lie in memory) or to a Deferred expression, which the
kernel that reads it computes on the way. A Deferred may finish a `pending` kernel (a product, a
reduction): element-wise work on its result is done before the result is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from swath.graph.ir import Graph, Value
from swath.graph.types import DType
from swath.stages.destinations import OutputSlot, Part, Place
from swath.stages.weights import Weights
from swath.tile.expressions import (
    Apply,
    Expression,
    Load,
    Result,
    Scalar,
    has_result,
    is_expensive,
    map_views,
    replace_result,
    reshape,
    runs_on_lanes,
)
from swath.tile.kernels import Kernel, LookupEntry, Pointwise
from swath.tile.views import Buffer, BufferKind, View, whole

ROW_ALIGNMENT = 64  # bytes: rows of a scratch buffer start on a cache line

Finish = Callable[[View, Expression], Kernel]
# The policy and default row of ids that are elements (flat) of a value; None if they don't come
# from one input
Policies = Callable[[Value, slice], tuple[str, int] | None]


@dataclass(frozen=True, slots=True)
class Pending:
    """A kernel that waits for what is done with its result: `emit(destination, finish)`.

    `shape` is the shape in which it computes; `lanes` says that it can only be finished by what
    runs on registers of float32."""

    shape: tuple[int, ...]
    emit: Finish
    lanes: bool


@dataclass(frozen=True, slots=True)
class Deferred:
    """An expression over `shape`, not stored yet."""

    shape: tuple[int, ...]
    expression: Expression
    pending: Pending | None = None


Lowered = View | Deferred


@dataclass(slots=True)
class State:
    """See the head of this file."""

    graph: Graph
    uses: dict[Value, int]
    places: dict[Value, Place]
    policies: Policies
    with_rows: tuple[bool, ...]  # of each output: whether it has rows
    weights: Weights = field(default_factory=Weights)
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    entries: list[tuple[LookupEntry, Value, slice]] = field(
        default_factory=list[tuple[LookupEntry, Value, slice]]
    )
    lowered: dict[Value, Lowered] = field(default_factory=dict[Value, Lowered])
    _destinations: dict[Value, View] = field(default_factory=dict[Value, View])
    _buffers: int = 0

    def scratch(self, shape: tuple[int, ...], dtype: DType, name: str) -> View:
        """A new contiguous scratch buffer for a value of `shape`."""
        elements = max(1, int(np.prod(shape)))
        per_line = ROW_ALIGNMENT // dtype.size
        row = 1 if elements == 1 else -(-elements // per_line) * per_line
        self._buffers += 1
        buffer = Buffer(f"{name}_{self._buffers}", BufferKind.SCRATCH, dtype, elements, row)
        return whole(buffer, shape)

    def destination(self, value: Value) -> View:
        """Where the elements of a value are to be stored."""
        if value not in self._destinations:
            self._destinations[value] = self._placed(value) or self.scratch(
                value.type.static_shape, value.type.dtype, "scratch"
            )
        return self._destinations[value]

    def _placed(self, value: Value) -> View | None:
        place = self.places.get(value)
        shape = value.type.static_shape
        if isinstance(place, OutputSlot):
            return self._once_each(whole(self.output_buffer(place.index, value), shape))
        if isinstance(place, Part):
            part = self.destination(place.whole).slice(place.axis, place.start, place.stop)
            return part.reshape(shape)
        return None

    def output_buffer(self, index: int, value: Value) -> Buffer:
        """The buffer of an output; what has no rows is written in one place by every row."""
        elements = value.type.elements
        rows = elements if self.with_rows[index] else 0
        return Buffer(f"output_{index}", BufferKind.OUTPUT, value.type.dtype, elements, rows, index)

    def _once_each(self, view: View) -> View:
        """Output buffers are made once, so that they compare equal."""
        for other in self._destinations.values():
            if other.buffer.name == view.buffer.name:
                return View(other.buffer, 0, view.shape, view.strides)
        return view

    def view(self, value: Value) -> View:
        """The value in memory; stores it first if need be."""
        lowered = self.get(value)
        if isinstance(lowered, View):
            return lowered
        if isinstance(lowered.expression, Load):
            return lowered.expression.view
        target = self.destination(value)
        self.store(lowered, target, comment=describe(value))
        self.lowered[value] = target
        return target

    def store(self, lowered: Lowered, target: View, comment: str) -> None:
        """Emit the kernel that stores a lowered value in `target`."""
        if isinstance(lowered, View):
            lowered = Deferred(lowered.shape, Load(lowered))
        pending = lowered.pending
        if pending is None:
            self.kernels.append(Pointwise(target, lowered.expression, comment))
            return
        finish = reshape(lowered.expression, pending.shape)
        natural = target.reshape(pending.shape)
        assert finish is not None, "unit axes always reshape"
        assert natural is not None, "unit axes always reshape"
        if pending.lanes and not runs_on_lanes(finish):
            raw = self.scratch(pending.shape, DType.FLOAT32, "raw")
            self.kernels.append(pending.emit(raw, Result(DType.FLOAT32)))
            finish = replace_result(finish, Load(raw))
            self.kernels.append(Pointwise(natural, finish, comment))
            return
        self.kernels.append(pending.emit(natural, finish))

    def get(self, value: Value) -> Lowered:
        """What a value has become; constants become views of the weights blob or scalars."""
        if value not in self.lowered:
            array = self.graph.constant(value)
            assert array is not None, f"{value} is used before it is made"
            self.lowered[value] = self._constant(array, value)
        return self.lowered[value]

    def _constant(self, array: np.ndarray, value: Value) -> Lowered:
        shape = value.type.static_shape
        if array.size and (array.size == 1 or bool((array == array.flat[0]).all())):
            return Deferred(shape, Scalar(array.flat[0].item(), value.type.dtype))
        return whole(self.weights.add(array), shape)

    def expression(self, value: Value, shape: tuple[int, ...]) -> Deferred:
        """The value as an expression broadcast to `shape`; may hold a pending result."""
        lowered = self.get(value)
        if isinstance(lowered, Deferred) and lowered.shape != shape:
            stretched = int(np.prod(shape)) > int(np.prod(lowered.shape))
            if lowered.pending or (stretched and is_expensive(lowered.expression)):
                lowered = self.view(value)
        if isinstance(lowered, View):
            return Deferred(shape, Load(lowered.expand(shape)))
        if lowered.shape == shape:
            return lowered
        expression = map_views(lowered.expression, lambda view: view.expand(shape))
        return Deferred(shape, expression)

    def settled(self, value: Value, shape: tuple[int, ...]) -> Expression:
        """The value as an expression without a pending result."""
        deferred = self.expression(value, shape)
        if has_result(deferred.expression):
            return Load(self.view(value).expand(shape))
        return deferred.expression

    def define(self, value: Value, lowered: Lowered) -> None:
        """Set what a value has become; one read several times is stored at once."""
        self.lowered[value] = lowered
        if isinstance(lowered, Deferred) and self.uses[value] > 1 and not _is_free(lowered):
            self.view(value)


def _is_free(deferred: Deferred) -> bool:
    """True if computing an expression again costs no more than loading its result."""
    expression = deferred.expression
    if isinstance(expression, Load | Scalar):
        return True
    if not isinstance(expression, Apply) or expression.function != "cast":
        return False
    return isinstance(expression.arguments[0], Load)


def describe(value: Value) -> str:
    """A short comment that leads from a kernel back to the model."""
    origin = value.origin
    place = f" {origin}" if origin is not None and str(origin) else ""
    return f"{value.name} {value.type}{place}"
