"""How many rows make a swath: enough that weights are read seldom, few enough for the cache."""

from __future__ import annotations

from math import prod

from swath.stages.scratch import plan_scratch
from swath.tile.kernels import Kernel, Lookup, Pointwise, Product, Reduction, reads_of

MOST_ROWS = 48
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


HELPER_COST = 40e-6  # seconds of work from which on waking a helper thread pays
FLOPS = 50e9  # per second, a guess that is on the low side of any CPU we compile for
BYTES = 10e9


def thread_min_rows(kernels: list[Kernel], rows_per_swath: int) -> int:
    """Rows from which on a call is worth splitting over threads."""
    seconds = 0.0
    for kernel in kernels:
        flops, touched = kernel_work(kernel)
        seconds += flops / FLOPS + touched / BYTES
    rows = int(HELPER_COST / max(seconds, 1e-9))
    return max(2, min(rows, 16 * rows_per_swath))


def kernel_work(kernel: Kernel) -> tuple[float, float]:
    """Floating point operations and bytes touched per row, roughly."""
    if isinstance(kernel, Product):
        *lead, rows, columns = kernel.destination.shape
        return 2.0 * prod(lead) * rows * columns * kernel.depth, 0.0
    if isinstance(kernel, Reduction):
        return float(prod(kernel.shape)), 0.0
    if isinstance(kernel, Pointwise):
        return 4.0 * kernel.destination.elements, 0.0
    if isinstance(kernel, Lookup):
        width = kernel.destination.shape[-1]
        lines = -(-width * 4 // 64) * 64
        return 0.0, float(lines * kernel.destination.elements // max(1, width))
    return 0.0, float(64 * len(reads_of(kernel)))
