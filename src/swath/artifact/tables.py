"""Files of embedding tables: a 64-byte header, rows * width numbers, and at least 64 bytes of
padding.

    bytes 0-7     "SWATHTBL"
    bytes 8-11    version of this layout, 1
    bytes 12-15   element type, the index in `DTYPES`
    bytes 16-23   rows
    bytes 24-31   width
    bytes 32-63   zero

All numbers are little-endian; the data start at byte 64, so that they are 64-byte aligned once
mapped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from swath.artifact.manifest import DType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER_BYTES = 64
PADDING = 64

DTYPES: tuple[str, ...] = get_args(DType)

_MAGIC = b"SWATHTBL"
_VERSION = 1
_LAYOUT = struct.Struct("<8sIIqq32x")
_CHUNK_BYTES = 16 << 20

_ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
}


def item_bytes(dtype: str) -> int:
    """Bytes of one element."""
    return _ITEM_BYTES[dtype]


def table_header(dtype: str, rows: int, width: int) -> bytes:
    """The 64 bytes before the data."""
    return _LAYOUT.pack(_MAGIC, _VERSION, DTYPES.index(dtype), rows, width)


def table_file_bytes(dtype: str, rows: int, width: int) -> int:
    """Size of the whole file, a multiple of 64."""
    data = rows * width * item_bytes(dtype)
    return HEADER_BYTES + -(-data // 64) * 64 + PADDING


def table_chunks(data: NDArray[np.generic], dtype: str) -> Iterator[bytes | memoryview]:
    """The bytes of the file, in pieces; `data` is [rows, width]."""
    rows, width = data.shape
    yield table_header(dtype, rows, width)
    step = max(1, _CHUNK_BYTES // max(1, width * data.itemsize))
    for begin in range(0, rows, step):
        yield data[begin : begin + step].tobytes()
    yield bytes(table_file_bytes(dtype, rows, width) - HEADER_BYTES - data.nbytes)
