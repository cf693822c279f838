"""Types of graph values: element type, shape, row space.

A shape is a tuple of dimensions. Before debatching a dimension may depend on the call:

    int          the same in every call
    BatchSize    `multiple * batch + extra` elements (a merged axis such as [B*26] has multiple 26)
    RaggedSize   the number of values of a ragged input, different in every call

After debatching (row form) every dimension is an int, but for the leading axis of ragged values,
and the type says in which row space the value lives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt


class DType(Enum):
    """Element types; the value is the short name of the text form."""

    FLOAT64 = "f64"
    FLOAT32 = "f32"
    INT64 = "i64"
    INT32 = "i32"
    INT16 = "i16"
    INT8 = "i8"
    UINT8 = "u8"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy element type."""
        return np.dtype(_NUMPY_NAMES[self.value])

    @property
    def size(self) -> int:
        """Bytes an element takes."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        """True for float32 and float64."""
        return self in (DType.FLOAT32, DType.FLOAT64)

    @property
    def is_integer(self) -> bool:
        """True for the integer types; bool is not one."""
        return not self.is_float and self is not DType.BOOL

    @staticmethod
    def of(dtype: npt.DTypeLike) -> DType:
        """The element type of a NumPy dtype; KeyError if Swath has none for it."""
        name = np.dtype(dtype).name
        for short, long in _NUMPY_NAMES.items():
            if long == name:
                return DType(short)
        raise KeyError(name)


_NUMPY_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
}


class Space(Enum):
    """What a value has one row per (see docs/architecture.md, "Row spaces")."""

    ONCE = "once"
    REQUEST = "request"
    CANDIDATE = "candidate"
    POSITION = "position"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class BatchSize:
    """A size of `multiple * batch + extra`.

    `extra` is 1 for the offsets of bags that hold the end of the last bag too, else 0.
    """

    multiple: int = 1
    extra: int = 0

    def __str__(self) -> str:
        text = "B" if self.multiple == 1 else f"{self.multiple}B"
        return f"{text}+{self.extra}" if self.extra else text


@dataclass(frozen=True, slots=True)
class RaggedSize:
    """The number of values that a ragged input holds in this call."""

    name: str

    def __str__(self) -> str:
        return f"~{self.name}"


Dim = int | BatchSize | RaggedSize
Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape; `space` is None until the batch axis is removed."""

    dtype: DType
    shape: Shape
    space: Space | None = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as ints; ValueError if a dimension depends on the call."""
        sizes = tuple(dim for dim in self.shape if isinstance(dim, int))
        if len(sizes) != len(self.shape):
            raise ValueError(f"{self} has a dimension that depends on the call")
        return sizes

    @property
    def elements(self) -> int:
        """Number of elements of one row (of the whole value, if `space` is ONCE)."""
        count = 1
        for size in self.static_shape:
            count *= size
        return count

    @property
    def has_batch(self) -> bool:
        """True if an axis depends on the batch."""
        return any(isinstance(dim, BatchSize) for dim in self.shape)

    def with_shape(self, shape: Shape) -> TensorType:
        """The same type with another shape."""
        return replace(self, shape=tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same type with another element type."""
        return replace(self, dtype=dtype)

    def with_space(self, space: Space | None) -> TensorType:
        """The same type in another row space."""
        return replace(self, space=space)

    def __str__(self) -> str:
        text = f"{self.dtype.value}[{','.join(str(dim) for dim in self.shape)}]"
        return text if self.space is None else f"{text} @{self.space.value}"
