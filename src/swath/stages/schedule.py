"""How many rows make a swath: enough that weights are read seldom, few enough for the cache."""

from __future__ import annotations

from swath.stages.scratch import plan_scratch
from swath.tile.kernels import Kernel

MOST_ROWS = 96
FEWEST_ROWS = 8
ROW_STEP = 12  # a whole number of row tiles of the matrix product, on every ISA
CACHE_SHARE = 256 * 1024  # bytes of L2 for activations; the rest holds the weights in use


def choose_rows(kernels: list[Kernel], wanted: int) -> int:
    """Rows per swath: `wanted` if given, else the most whose scratch fits its share of L2."""
    if wanted > 0:
        return wanted
    _, per_row = plan_scratch(kernels, 64)
    rows = int(CACHE_SHARE / max(1.0, per_row / 64))
    rows = max(FEWEST_ROWS, min(MOST_ROWS, rows))
    return rows // ROW_STEP * ROW_STEP or rows
