"""How near a program comes to what the machine can do: flops and bytes against measured limits.

limit     the least time that a kernel can take on one core: the largest of its arithmetic at
          the measured float32 peak, its table rows at the measured time of a random row, its
          weights (read once a swath) and its buffers (which stay in L1 and L2) at the measured
          bandwidths
measured  the median time of a call of the whole program with one thread, on synthetic inputs;
          a kernel's is its part of it (see `swath.report.profile`)
share     the limit over the measured time
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import msgspec
from msgspec.structs import replace

from swath.artifact.manifest import Manifest
from swath.errors import EnvironmentProblem, Problem
from swath.report.compile_report import CompileReport, KernelLine
from swath.report.machine import L2_BYTES, Machine, ProbeError, measure_machine
from swath.report.profile import kernel_shares
from swath.report.program_bench import INPUT_SETS, time_program
from swath.report.synthetic import LONGEST_BAG
from swath.runtime import load

LINE_BYTES = 64
_ROUNDS = 6  # the best of them counts: others may keep the machine busy


class KernelLimit(msgspec.Struct, frozen=True):
    """The limit of one kernel (by its number) in one call, in microseconds, and what sets it:
    "arithmetic", "table rows", "weights" or "buffers"; the microseconds that it really takes, null
    where they can't be measured."""

    number: int
    limit: float
    bound: str
    measured: float | None = None


class Roofline(msgspec.Struct, frozen=True):
    """A call of `batch` rows on one thread, in microseconds; `share` is limit / measured, and
    `machine` the measured limits of one core."""

    batch: int
    kernels: tuple[KernelLimit, ...]
    limit: float
    measured: float
    share: float
    gflops: float
    machine: dict[str, float | str]


def probe_machine() -> Machine:
    """The limits of this machine. Raises EnvironmentProblem SW304."""
    try:
        return measure_machine(rounds=_ROUNDS)
    except ProbeError as error:
        raise EnvironmentProblem(
            Problem(
                "SW304",
                "this machine can't be measured",
                str(error),
                "install g++ or clang++",
            )
        ) from error


def roofline(path: Path, manifest: Manifest, report: CompileReport, batch: int) -> Roofline:
    """Holds an artefact against the machine at hand; takes a few seconds."""
    machine = probe_machine()
    with load(path, threads=1) as program:
        measured = time_program(program, batch, 1.0).median
    limits = kernel_limits(report, machine, batch)
    shares = kernel_shares(path, manifest, len(limits), batch)
    if shares:
        limits = [
            replace(kernel, measured=round(part * measured, 4))
            for kernel, part in zip(limits, shares, strict=True)
        ]
    limit = sum(kernel.limit for kernel in limits)
    flops = sum(kernel.flops for kernel in report.kernels) * batch
    return Roofline(
        batch,
        tuple(limits),
        round(limit, 3),
        measured,
        round(limit / measured, 4),
        round(flops / measured / 1e3, 2),
        asdict(machine),
    )


def kernel_limits(report: CompileReport, machine: Machine, batch: int) -> list[KernelLimit]:
    """The limit of every kernel in a call of `batch` rows on one core."""
    swaths = -(-batch // report.rows_per_swath)
    weights = sum(kernel.weight_bytes for kernel in report.kernels)
    return [_limit(kernel, machine, batch, swaths, weights) for kernel in report.kernels]


def _limit(
    kernel: KernelLine, machine: Machine, batch: int, swaths: int, weights: float
) -> KernelLimit:
    # The weights of all kernels pass through the cache in turn: together they decide the level.
    level = weights if weights > L2_BYTES else kernel.weight_bytes
    per_byte = machine.weight_seconds(level) / level if level else 0.0
    read = _row_bytes(kernel) * batch
    seconds = {
        "arithmetic": machine.arithmetic_seconds(kernel.flops * batch),
        "table rows": _row_seconds(machine, read, min(kernel.tables_size, read * INPUT_SETS)),
        "weights": per_byte * kernel.weight_bytes * swaths,
        "buffers": kernel.moved_bytes * batch / (machine.l1_gbytes * 1e9),
    }
    bound = max(seconds, key=lambda name: seconds[name])
    return KernelLimit(kernel.number, round(seconds[bound] * 1e6, 4), bound)


def _row_bytes(kernel: KernelLine) -> float:
    """Bytes of table rows per row, bags being as long as those of the synthetic inputs."""
    return kernel.table_bytes + kernel.bag_bytes * LONGEST_BAG / 2


def _row_seconds(machine: Machine, read: float, touched: float) -> float:
    """Rows that fit L2 come at its bandwidth, others one random line after the other."""
    if touched <= L2_BYTES:
        return read / (machine.l2_gbytes * 1e9)
    return machine.row_seconds(read / LINE_BYTES, touched)
