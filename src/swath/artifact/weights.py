"""The weights of an artefact: one safetensors file whose every section starts at a multiple of 64
bytes.

The generated code addresses weights by their offset from the start of the data, which the builder
gives out while the code is printed. The format of safetensors forbids holes, so the padding after
each section is named, too (`__pad_...`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
PADDING = 64

_SAFETENSORS_DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}


class WeightsBuilder:
    """Lays arrays out one after the other, each 64-byte aligned and followed by at least 64
    readable bytes.
    """

    def __init__(self) -> None:
        self._sections: dict[str, tuple[NDArray[np.generic], str, int]] = {}
        self._end = 0

    def add(self, name: str, array: NDArray[np.generic], *, dtype: str | None = None) -> int:
        """Append an array under a new name; returns its offset in bytes from the start of the data.

        `dtype="bfloat16"` says that a uint16 array holds bfloat16 numbers.
        """
        if name in self._sections:
            raise ValueError(f"there are two weights named {name!r}")
        kind = "BF16" if dtype == "bfloat16" else _SAFETENSORS_DTYPES[array.dtype.name]
        array = np.ascontiguousarray(array)
        offset = self._end
        self._sections[name] = (array, kind, offset)
        self._end = _aligned(offset + array.nbytes + PADDING)
        return offset

    @property
    def size(self) -> int:
        """Bytes of data so far, a multiple of 64."""
        return self._end

    def header(self) -> bytes:
        """The safetensors header: 8 bytes of length, then JSON padded so that the data start at a
        multiple of 64.
        """
        described: dict[str, object] = {}
        ends = [*(offset for _, _, offset in self._sections.values()), self._end][1:]
        for (name, (array, kind, offset)), end in zip(self._sections.items(), ends, strict=False):
            stop = offset + array.nbytes
            described[name] = _described(kind, list(array.shape), offset, stop)
            described[f"__pad_{name}"] = _described("U8", [end - stop], stop, end)
        text = json.dumps(described, separators=(",", ":")).encode()
        text += b" " * (_aligned(len(text) + 8) - 8 - len(text))
        return len(text).to_bytes(8, "little") + text

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file, in pieces."""
        yield self.header()
        position = 0
        for array, _, offset in self._sections.values():
            yield bytes(offset - position)
            yield array.tobytes()
            position = offset + array.nbytes
        yield bytes(self._end - position)


def _described(kind: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
