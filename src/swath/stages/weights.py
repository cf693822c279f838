"""The weights blob and the tables: which constants the kernels read, and in what layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.graph.types import DType
from swath.tile.views import Buffer, BufferKind

Array = npt.NDArray[Any]

PANEL = 16  # columns of a packed panel: one AVX-512 register of float32, two of AVX2


@dataclass(slots=True)
class Weights:
    """Arrays by the buffer that stands for them; equal arrays share one buffer."""

    arrays: dict[Buffer, Array] = field(default_factory=dict[Buffer, Array])
    tables: dict[Buffer, Array] = field(default_factory=dict[Buffer, Array])
    _known: dict[object, Buffer] = field(default_factory=dict[object, Buffer])

    def add(self, array: Array) -> Buffer:
        """A buffer in the weights blob that holds `array` in row-major order."""
        array = np.ascontiguousarray(array)
        digest = blake2b(array.tobytes(), digest_size=16).digest()
        key = (array.dtype.str, array.size, digest)
        if key not in self._known:
            buffer = Buffer(
                f"weights_{len(self.arrays)}",
                BufferKind.WEIGHT,
                DType.of(array.dtype),
                array.size,
                0,
            )
            self._known[key] = buffer
            self.arrays[buffer] = array
        return self._known[key]

    def table(self, name: str, array: Array) -> Buffer:
        """A table of its own file; `name` is that of the graph constant."""
        key = ("table", name)
        if key not in self._known:
            buffer = Buffer(
                name, BufferKind.TABLE, DType.of(array.dtype), array.shape[1], 0, len(self.tables)
            )
            self._known[key] = buffer
            self.tables[buffer] = array
        return self._known[key]


def pack_panels(matrix: Array) -> Array:
    """[..., K, N] -> [..., ceil(N / 16), K, 16], missing columns zero.

    One layout for every ISA: a kernel reads its columns of each k one behind the other, and a
    wider tile walks several panels side by side.
    """
    *lead, depth, columns = matrix.shape
    panels = -(-columns // PANEL)
    padded = np.zeros((*lead, depth, panels * PANEL), matrix.dtype)
    padded[..., :columns] = matrix
    split = padded.reshape(*lead, depth, panels, PANEL)
    return np.ascontiguousarray(np.moveaxis(split, -2, -3))
