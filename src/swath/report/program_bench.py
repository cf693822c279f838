"""Times an artefact alone, on synthetic inputs: neither its model nor PyTorch is needed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from swath.report.arguments import program_arguments
from swath.report.bench_result import (
    OURS,
    BenchReport,
    CaseResult,
    PeerResult,
    Timing,
    describe_machine,
    describe_packages,
    timing_of,
)
from swath.report.synthetic import synthetic_inputs
from swath.report.table import columns
from swath.runtime import Program, load

INPUT_SETS = 16
FEWEST_CALLS = 3
MOST_CALLS = 20_000


def bench_program(
    path: Path,
    batches: Sequence[int],
    threads: Sequence[int],
    seconds: float = 0.75,
    say: Callable[[str], None] = lambda _: None,
) -> BenchReport:
    """Times an artefact at every batch and thread count, `seconds` each.

    Raises what `load` does.
    """
    cases: list[CaseResult] = []
    for count in threads:
        with load(path, threads=count) as program:
            result = PeerResult(OURS)
            for batch in batches:
                result.timings.append(time_program(program, batch, seconds))
                median = result.timings[-1].median
                say(f"{path.name}  {count} thread(s)  batch {batch}: {median:.1f} us")
        cases.append(CaseResult(str(path), count, [result]))
    return BenchReport(describe_machine(), describe_packages(), list(batches), cases)


def time_program(program: Program, batch: int, seconds: float) -> Timing:
    """Microseconds of a call with NumPy inputs; ids change between calls."""
    calls = [
        program_arguments(
            program.manifest.parameters, synthetic_inputs(program.manifest, batch, seed)
        )
        for seed in range(INPUT_SETS)
    ]
    for call in calls:
        program(*call.positional, **call.named)
    taken: list[float] = []
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    begin = time.perf_counter()
    while len(taken) < FEWEST_CALLS or (
        len(taken) < MOST_CALLS and time.perf_counter() - begin < seconds
    ):
        call = calls[len(taken) % INPUT_SETS]
        start = time.perf_counter_ns()
        program(*call.positional, **call.named)
        taken.append((time.perf_counter_ns() - start) / 1e3)
    if enabled:
        gc.enable()
    return timing_of(batch, taken, None)


def program_table(report: BenchReport) -> str:
    """Medians in microseconds and the 25th to 75th percentile, a line a thread count."""
    rows = [["microseconds per call", *(f"batch {batch}" for batch in report.batches)]]
    for case in report.cases:
        cells = [
            f"{timing.median:.1f} ({timing.low:.1f}-{timing.high:.1f})"
            for timing in case.peers[0].timings
        ]
        rows.append([f"{case.threads} thread{'s' if case.threads > 1 else ''}", *cells])
    machine = f"{report.machine['processor']}, {report.machine['cores']} cores"
    return "\n".join([machine, *columns(rows)])
