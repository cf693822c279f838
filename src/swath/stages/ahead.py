"""Lookups whose rows can be asked for while the swath before is computed.

Rows of large tables come from memory: 10 to 20 ns each even with many under way, a fifth of the
time of a ranking model at large batches. Where ids come straight from the inputs, those of the next
swath are turned into addresses first, and the matrix products of this swath prefetch them, a few
at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from swath.tile.expressions import views_of
from swath.tile.kernels import Kernel, Lookup
from swath.tile.views import BufferKind

POINTER_BYTES = 8
MOST_POINTERS = 2048  # per row; beyond that the list itself would not stay in the cache


def ahead_lookups(kernels: Sequence[Kernel]) -> list[Lookup]:
    """The lookups whose ids are known before the swath begins, in order."""
    chosen: list[Lookup] = []
    pointers = 0
    for kernel in kernels:
        if not isinstance(kernel, Lookup):
            continue
        known = all(view.buffer.kind is BufferKind.INPUT for view in views_of(kernel.ids))
        if known and pointers + pointers_per_row(kernel) <= MOST_POINTERS:
            chosen.append(kernel)
            pointers += pointers_per_row(kernel)
    return chosen


def pointers_per_row(lookup: Lookup) -> int:
    """How many table rows a lookup reads for each row of the batch."""
    return prod(lookup.destination.shape[:-1])


def ahead_bytes(kernels: Sequence[Kernel], rows: int) -> int:
    """Bytes of the addresses of two swaths, this one's and the next one's."""
    pointers = sum(pointers_per_row(lookup) for lookup in ahead_lookups(kernels))
    return -(-2 * rows * pointers * POINTER_BYTES // 64) * 64
