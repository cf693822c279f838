"""What a rule builds with: typed helpers over a `GraphBuilder`.

A rule is a function `rule(context, *arguments, **keywords)` with the arguments of the torch op,
where tensors are graph values and symbolic sizes are `Dim`s. It returns a value, a tuple or list of
values, or None for a result that nobody may use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from swath.frontends.promotion import Operand, Scalar, promote
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Array, GraphBuilder, Node, Origin, Value
from swath.graph.ops import (
    Binary,
    Cast,
    Concat,
    Expand,
    Fill,
    Iota,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    Slice,
    Unary,
    Where,
)
from swath.graph.ops.base import broadcast_shapes
from swath.graph.types import BatchSize, Dim, DType, RaggedSize, Shape, TensorType

# Constants up to this many elements are computed at import where a rule needs to know them.
_FOLD_LIMIT = 1 << 24


@dataclass(slots=True)
class Context:
    """The graph under construction and the node that is being imported.

    `results` are the types that torch states for the node's results (None for what isn't a tensor).
    """

    builder: GraphBuilder
    origin: Origin = field(default_factory=Origin)
    name: str = ""
    op: str = ""
    results: tuple[TensorType | None, ...] = ()
    producers: dict[Value, Node] = field(default_factory=dict[Value, Node])
    _scalars: dict[tuple[Scalar, DType, str], Value] = field(
        default_factory=dict[tuple[Scalar, DType, str], Value]
    )
    _folded: dict[Value, Array | None] = field(default_factory=dict[Value, Array | None])

    @property
    def result(self) -> TensorType:
        """The type that torch states for the first result."""
        first = self.results[0]
        assert first is not None
        return first

    # ---- nodes

    def add(self, op: Op, *inputs: Value) -> Value:
        """Add a node with one output."""
        return self.add_many(op, *inputs)[0]

    def add_many(self, op: Op, *inputs: Value) -> tuple[Value, ...]:
        """Add a node with any number of outputs."""
        outputs = self.builder.add_node(op, inputs, names=(self.name,) * 4, origin=self.origin)
        node = self.builder.nodes[-1]
        for value in outputs:
            self.producers[value] = node
        return outputs

    # ---- constants

    def scalar(self, value: Scalar, dtype: DType) -> Value:
        """A 0-d constant; equal ones are shared."""
        # 0.0 and -0.0, 1 and True are equal keys of a dict but not the same constant.
        key = (value, dtype, repr(value))
        found = self._scalars.get(key)
        if found is None:
            array = np.asarray(value).astype(dtype.numpy)
            found = self._scalars[key] = self.constant("scalar", array)
        return found

    def constant(self, name: str, array: Array) -> Value:
        """A constant from an array."""
        type = TensorType(DType.of(array.dtype), array.shape)
        return self.builder.constant(name, array, type, self.origin)

    def known(self, value: Value) -> Array | None:
        """The array of a value that depends on no input; None if it does, or is too large."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._folded:
                pending.pop()
                continue
            missing = self._fold(current)
            if missing:
                pending.extend(missing)
            else:
                pending.pop()
        return self._folded[value]

    def _fold(self, value: Value) -> list[Value]:
        """Fold one value, or tell which inputs must be folded first."""
        array = self.builder.constants.get(value.name)
        node = self.producers.get(value)
        if array is not None or node is None:
            self._folded[value] = array
            return []
        if _call_dependent(node):
            self._folded[value] = None
            return []
        missing = [item for item in node.inputs if item not in self._folded]
        if missing:
            return missing
        arrays = [self._folded[item] for item in node.inputs]
        known = tuple(item for item in arrays if item is not None)
        results: Sequence[Array | None] = (None,) * len(node.outputs)
        if len(known) == len(arrays):
            results = node.op.reference(known)
        for output, result in zip(node.outputs, results, strict=True):
            self._folded[output] = result
        return []

    def known_scalar(self, value: Operand) -> Scalar | None:
        """A Python number, or that of a 0-d or one-element value that depends on no input."""
        if not isinstance(value, Value):
            return value
        if value.type.rank and value.type.shape != (1,) * value.type.rank:
            return None
        array = self.known(value)
        return None if array is None else array.reshape(()).item()

    # ---- element-wise

    def operand(self, value: Any) -> Operand:
        """An operand of arithmetic. Raises Unsupported for the size of the batch."""
        if isinstance(value, BatchSize | RaggedSize):
            raise Unsupported(
                "SW013",
                f"`{self.op}` computes with the size of the batch",
                "the result of a row must not depend on how many rows the call has",
                "use a constant or an input instead of x.shape[0]",
            )
        return value

    def typed(self, value: Operand, dtype: DType) -> Value:
        """An operand as a value of an element type."""
        if isinstance(value, Value):
            return self.cast(value, dtype)
        return self.scalar(value, dtype)

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value in another element type."""
        if value.type.dtype is dtype:
            return value
        if dtype is DType.BOOL:
            zero = self.scalar(0, value.type.dtype)
            return self.add(Binary("ne"), value, zero)
        return self.add(Cast(dtype), value)

    def unary(self, function: str, value: Value) -> Value:
        """`Unary(function)`."""
        return self.add(Unary(function), value)

    def binary(self, function: str, a: Operand, b: Operand, dtype: DType | None = None) -> Value:
        """`Binary(function)` after promotion of both to their common type (or `dtype`)."""
        a, b = self.operand(a), self.operand(b)
        dtype = dtype or promote((a, b))
        return self.add(Binary(function), self.typed(a, dtype), self.typed(b, dtype))

    def where(self, condition: Value, a: Operand, b: Operand) -> Value:
        """`condition ? a : b` after promotion."""
        a, b = self.operand(a), self.operand(b)
        dtype = promote((a, b))
        condition = self.cast(condition, DType.BOOL)
        return self.add(Where(), condition, self.typed(a, dtype), self.typed(b, dtype))

    # ---- views

    def reshape(self, value: Value, shape: Sequence[Dim]) -> Value:
        """The value under another shape."""
        shape = tuple(shape)
        return value if value.type.shape == shape else self.add(Reshape(shape), value)

    def expand(self, value: Value, shape: Sequence[Dim]) -> Value:
        """The value broadcast to a shape."""
        shape = tuple(shape)
        return value if value.type.shape == shape else self.add(Expand(shape), value)

    def permute(self, value: Value, axes: Sequence[int]) -> Value:
        """The value with its axes in another order."""
        axes = tuple(axes)
        return value if axes == tuple(range(len(axes))) else self.add(Permute(axes), value)

    def slice(self, value: Value, axis: int, start: int, stop: Dim, step: int = 1) -> Value:
        """Part of an axis; start and stop are already in range."""
        size = value.type.shape[axis]
        if start == 0 and stop == size and step == 1:
            return value
        return self.add(Slice(axis, start, stop, step), value)

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """A new axis of size 1 before `axis`."""
        shape = value.type.shape
        return self.reshape(value, (*shape[:axis], 1, *shape[axis:]))

    def drop_axis(self, value: Value, axis: int) -> Value:
        """The value without an axis of size 1."""
        shape = value.type.shape
        return self.reshape(value, (*shape[:axis], *shape[axis + 1 :]))

    def select(self, value: Value, axis: int, index: int) -> Value:
        """One position of an axis; the axis vanishes."""
        return self.drop_axis(self.slice(value, axis, index, index + 1), axis)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """The values one behind the other."""
        return values[0] if len(values) == 1 else self.add(Concat(axis), *values)

    def broadcast(self, values: Sequence[Value]) -> list[Value]:
        """The values expanded to their common shape."""
        shape = broadcast_shapes(*(value.type.shape for value in values))
        return [self.expand(value, shape) for value in values]

    # ---- the rest

    def fill(self, shape: Shape, value: Scalar, dtype: DType) -> Value:
        """A tensor of one value."""
        return self.add(Fill(shape, float(value), dtype))

    def iota(self, length: Dim, start: int = 0, step: int = 1, dtype: DType = DType.INT64) -> Value:
        """start, start + step, ..."""
        return self.add(Iota(length, start, step, dtype))

    def reduce(self, function: str, value: Value, axes: Sequence[int], keepdim: bool) -> Value:
        """`Reduce` over non-negative axes."""
        if not axes:
            return value
        return self.add(Reduce(function, tuple(sorted(axes)), keepdim), value)

    def matmul(self, a: Value, b: Value) -> Value:
        """`MatMul`."""
        return self.add(MatMul(), a, b)


def _call_dependent(node: Node) -> bool:
    """True if a result depends on the call, or is larger than is worth computing at import."""
    for value in node.outputs:
        elements = 1
        for dim in value.type.shape:
            if not isinstance(dim, int):
                return True
            elements *= dim
        if elements > _FOLD_LIMIT:
            return True
    return False
