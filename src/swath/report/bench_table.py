"""The text forms of a bench: aligned columns for the terminal, Markdown for the docs."""

from collections.abc import Sequence
from pathlib import Path

from swath.report.bench_peers import PEERS
from swath.report.bench_result import (
    OURS,
    BenchReport,
    CaseResult,
    PeerResult,
    Timing,
    geometric_mean,
)

Row = Sequence[str]


def bench_table(report: BenchReport) -> str:
    """One block a case: a line per peer, a column per batch, then what failed and why."""
    blocks = [case_table(case, report.batches) for case in report.cases]
    if len(report.cases) > 1:
        blocks.append(summary_table(report))
    return "\n\n".join([machine_line(report), *blocks])


def machine_line(report: BenchReport) -> str:
    """The machine and the package versions in one line."""
    machine = report.machine
    versions = ", ".join(f"{name} {version}" for name, version in report.packages.items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, {versions}"
    )


def case_table(case: CaseResult, batches: Sequence[int]) -> str:
    """Medians in microseconds and the spread (25th to 75th percentile) of one case."""
    header = ["", *(f"batch {batch}" for batch in batches), "build s", "differs by"]
    rows = [peer_row(result, batches) for result in case.peers]
    best = ["best peer / swath", *(ratio_text(case.ratio(batch)) for batch in batches), "", ""]
    threads = "1 thread" if case.threads == 1 else f"{case.threads} threads"
    lines = [
        f"{short_name(case.case)}, {threads}: microseconds per call, median (25th-75th percentile)",
        *aligned([header, *rows, best]),
        *failures(case),
    ]
    return "\n".join(lines)


def peer_row(result: PeerResult, batches: Sequence[int]) -> Row:
    """A peer's cells: its timings, its build time, and the largest difference from eager."""
    timings = [result.at(batch) for batch in batches]
    build = "" if result.build_seconds is None else f"{result.build_seconds:.1f}"
    differences = [t.difference for t in timings if t is not None and t.difference is not None]
    difference = f"{max(differences):.1e}" if differences else ""
    return [title_of(result.peer), *(timing_text(timing) for timing in timings), build, difference]


def timing_text(timing: Timing | None) -> str:
    """`median (low-high)`, or that there is none."""
    if timing is None:
        return "failed"
    return f"{number(timing.median)} ({number(timing.low)}-{number(timing.high)})"


def number(value: float) -> str:
    """Three digits or so: 3.14, 31.4, 314."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def ratio_text(ratio: float | None) -> str:
    """`x2.5`, or nothing where it can't be said."""
    return "" if ratio is None else f"x{ratio:.2f}"


def failures(case: CaseResult) -> list[str]:
    """A line for each peer that failed, in whole or at one batch."""
    lines: list[str] = []
    for result in case.peers:
        if result.failed is not None:
            lines.append(f"{title_of(result.peer)} failed: {result.failed}")
        for batch, reason in result.failures.items():
            lines.append(f"{title_of(result.peer)} failed at batch {batch}: {reason}")
    return lines


def summary_table(report: BenchReport) -> str:
    """The geometric mean and the worst of best peer / swath over all cases."""
    header = ["best peer / swath", *(f"batch {batch}" for batch in report.batches)]
    rows: list[Row] = []
    for threads in sorted({case.threads for case in report.cases}):
        cases = [case for case in report.cases if case.threads == threads]
        means: list[str] = []
        worst: list[str] = []
        for batch in report.batches:
            ratios = [(ratio, c) for c in cases if (ratio := c.ratio(batch)) is not None]
            means.append(ratio_text(geometric_mean(ratio for ratio, _ in ratios)))
            low = min(ratios, key=lambda pair: pair[0], default=None)
            worst.append(f"{ratio_text(low[0])} {short_name(low[1].case)}" if low else "")
        rows += [[f"geometric mean, {threads} thread(s)", *means], ["worst", *worst]]
    return "\n".join(aligned([header, *rows]))


def markdown(rows: Sequence[Row]) -> list[str]:
    """A Markdown table; the first row is the header."""
    header, *body = rows
    rule = "|" + "---|" * len(header)
    return [_markdown_row(header), rule, *(_markdown_row(row) for row in body)]


def aligned(rows: Sequence[Row]) -> list[str]:
    """Columns padded to one width each: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def title_of(peer: str) -> str:
    """How the peer is called in tables."""
    return next((known.title for known in PEERS if known.name == peer), peer)


def short_name(case: str) -> str:
    """How a case is called in tables: `MODELS.DeepFM` as `DeepFM`, `a/b.py:make` as `b:make`."""
    place, colon, name = case.rpartition(":")
    if not colon:
        return Path(case).name
    if "." in name:
        return name.rpartition(".")[2]
    module = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
    return f"{module}:{name}"


def swath_builds_against(report: BenchReport, peer: str) -> list[tuple[str, float, float]]:
    """(case, swath's build seconds, the peer's) wherever both were built."""
    pairs: list[tuple[str, float, float]] = []
    for case in report.cases:
        ours, theirs = case.of(OURS), case.of(peer)
        if ours and theirs and ours.build_seconds is not None and theirs.build_seconds is not None:
            pairs.append((short_name(case.case), ours.build_seconds, theirs.build_seconds))
    return pairs


def _markdown_row(row: Row) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
