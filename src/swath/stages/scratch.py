"""The scratch plan: one arena per thread, buffers that live at the same time never overlap."""

from __future__ import annotations

from swath.tile.kernels import Kernel, reads_of, writes_of
from swath.tile.views import Buffer, BufferKind

ALIGNMENT = 64


def lifetimes(kernels: list[Kernel]) -> dict[Buffer, tuple[int, int]]:
    """First and last kernel that touches each scratch buffer."""
    spans: dict[Buffer, tuple[int, int]] = {}
    for position, kernel in enumerate(kernels):
        for buffer in (*writes_of(kernel), *reads_of(kernel)):
            if buffer.kind is BufferKind.SCRATCH:
                first, _ = spans.get(buffer, (position, position))
                spans[buffer] = (first, position)
    return spans


def plan_scratch(kernels: list[Kernel], rows: int) -> tuple[dict[Buffer, int], int]:
    """Byte offset of each scratch buffer for `rows` rows, and the size of the arena.

    Best fit by decreasing size, as memory planners of inference engines do (Pisarchyk and Lee,
    "Efficient Memory Management for Deep Neural Net Inference", 2020, "greedy by size").
    """
    spans = lifetimes(kernels)
    placed: list[tuple[int, int, tuple[int, int]]] = []  # offset, end, span
    offsets: dict[Buffer, int] = {}
    total = 0
    for buffer in sorted(spans, key=lambda b: (-buffer_bytes(b, rows), spans[b][0], b.name)):
        size, span = buffer_bytes(buffer, rows), spans[buffer]
        offset = _lowest_gap(placed, span, size)
        placed.append((offset, offset + size, span))
        placed.sort()
        offsets[buffer] = offset
        total = max(total, offset + size)
    return offsets, total


def buffer_bytes(buffer: Buffer, rows: int) -> int:
    """Bytes of a scratch buffer, with 64 readable bytes behind it."""
    size = buffer.row_elements * rows * buffer.dtype.size + ALIGNMENT
    return -(-size // ALIGNMENT) * ALIGNMENT


def _lowest_gap(
    placed: list[tuple[int, int, tuple[int, int]]], span: tuple[int, int], size: int
) -> int:
    offset = 0
    for start, end, (first, last) in placed:
        if last < span[0] or span[1] < first:
            continue
        if offset + size <= start:
            return offset
        offset = max(offset, end)
    return offset
