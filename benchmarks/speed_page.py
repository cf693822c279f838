"""The text of docs/benchmarks.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.cost import Limit
from swath.report.bench_peers import PEERS
from swath.report.bench_result import OURS, BenchReport, CaseResult, geometric_mean
from swath.report.bench_table import (
    failures,
    machine_line,
    markdown,
    number,
    ratio_text,
    short_name,
    swath_builds_against,
    title_of,
)
from swath.report.machine import Machine

Limits = Mapping[tuple[str, int], Limit]

# Below this share of the limit neither arithmetic nor bytes can be what a small batch waits for.
LATENCY_SHARE, LATENCY_BATCH = 0.3, 16

LIMIT_HEADER = [
    "model",
    "swath",
    "best peer",
    "",
    "best peer / swath",
    "limit",
    "of the limit",
    "bound",
]

METHOD = Path(__file__).with_name("method.md")


def page(report: BenchReport, machine: Machine, limits: Limits) -> str:
    """The whole page."""
    peers = [["peer", "settings"], *([peer.title, peer.settings] for peer in PEERS)]
    parts = [
        METHOD.read_text().format(
            peers="\n".join(markdown(peers)),
            machine=machine_line(report),
            gflops=machine.float32_gflops,
            l1=machine.l1_gbytes,
            l2=machine.l2_gbytes,
            l3=machine.l3_gbytes,
            memory=machine.memory_gbytes,
            cached=machine.cached_row_nanoseconds,
            row=machine.row_nanoseconds,
        )
    ]
    for threads in sorted({case.threads for case in report.cases}):
        cases = [case for case in report.cases if case.threads == threads]
        parts += section(cases, batches_of(cases), limits, threads)
    parts += compile_section(report)
    parts += threads_section(report)
    broken = [line for case in report.cases for line in named_failures(case)]
    if broken:
        parts += ["## Failures", "", *(f"- {line}" for line in broken), ""]
    return "\n".join(parts)


def batches_of(cases: Sequence[CaseResult]) -> list[int]:
    """The batch sizes that any peer ran on any of the cases."""
    return sorted({t.batch for case in cases for peer in case.peers for t in peer.timings})


def section(
    cases: Sequence[CaseResult], batches: Sequence[int], limits: Limits, threads: int
) -> list[str]:
    """The summary and the tables of one thread count."""
    title = "one thread" if threads == 1 else f"{threads} threads"
    lines = [f"## Results, {title}", "", *markdown(summary(cases, batches)), ""]
    for batch in batches:
        rows = [limit_row(case, batch, limits if threads == 1 else {}) for case in cases]
        lines += [
            f"### Batch {batch}, {title} (microseconds)",
            "",
            *markdown([LIMIT_HEADER, *rows]),
            "",
        ]
    table = markdown(all_rows(cases, batches))
    lines += [f"### All peers, {title} (median microseconds)", "", *table, ""]
    return lines


def summary(cases: Sequence[CaseResult], batches: Sequence[int]) -> list[list[str]]:
    """The geometric mean and the worst model, per batch."""
    rows = [["batch", "geometric mean of best peer / swath", "worst", "models"]]
    for batch in batches:
        ratios = [(ratio, case) for case in cases if (ratio := case.ratio(batch)) is not None]
        worst = min(ratios, key=lambda pair: pair[0], default=None)
        said = f"{ratio_text(worst[0])} {short_name(worst[1].case)}" if worst else ""
        mean = ratio_text(geometric_mean(ratio for ratio, _ in ratios))
        rows.append([str(batch), mean, said, str(len(ratios))])
    return rows


def limit_row(case: CaseResult, batch: int, limits: Limits) -> list[str]:
    """A model at one batch: ours, the best peer, and what bounds it."""
    name = short_name(case.case)
    ours = case.of(OURS)
    timing = ours.at(batch) if ours else None
    best = case.best_peer(batch)
    row = [name, number(timing.median) if timing else "failed"]
    row += [title_of(best[0]), number(best[1])] if best else ["", ""]
    row.append(ratio_text(case.ratio(batch)))
    limit = limits.get((name, batch))
    if limit is None or timing is None:
        return [*row, number(limit.least) if limit else "", "", ""]
    share = limit.least / timing.median
    latency = batch <= LATENCY_BATCH and share < LATENCY_SHARE
    return [*row, number(limit.least), f"{share:.0%}", "latency" if latency else limit.bound]


def all_rows(cases: Sequence[CaseResult], batches: Sequence[int]) -> list[list[str]]:
    """Every median: a line per model and batch, a column per peer."""
    known = [peer.name for peer in PEERS if any(case.of(peer.name) for case in cases)]
    rows = [["model", "batch", *(title_of(name) for name in known)]]
    for case in cases:
        for batch in batches:
            cells: list[str] = []
            for name in known:
                result = case.of(name)
                timing = result.at(batch) if result else None
                cells.append(number(timing.median) if timing else "failed" if result else "")
            rows.append([short_name(case.case), str(batch), *cells])
    return rows


def compile_section(report: BenchReport) -> list[str]:
    """Build seconds, torch.export included, beside torch.compile's."""
    pairs = swath_builds_against(report, "inductor")
    if not pairs:
        return []
    rows = [["model", "swath", "torch.compile", "torch.compile / swath"]]
    rows += [[n, f"{a:.1f}", f"{b:.1f}", ratio_text(b / a)] for n, a, b in pairs]
    return ["## Compile times (seconds, to the end of the first call)", "", *markdown(rows), ""]


def threads_section(report: BenchReport) -> list[str]:
    """How much faster two threads are at the largest batch."""
    if not report.batches:
        return []
    batch = max(report.batches)
    rows = [["model", *(peer.title for peer in PEERS)]]
    singles = {case.case: case for case in report.cases if case.threads == 1}
    for case in report.cases:
        single = singles.get(case.case)
        if case.threads != 2 or single is None:
            continue
        cells: list[str] = []
        for peer in PEERS:
            one, two = single.of(peer.name), case.of(peer.name)
            first, second = one.at(batch) if one else None, two.at(batch) if two else None
            cells.append(ratio_text(first.median / second.median) if first and second else "")
        rows.append([short_name(case.case), *cells])
    if len(rows) == 1:
        return []
    return [f"## Two threads over one, batch {batch}", "", *markdown(rows), ""]


def named_failures(case: CaseResult) -> list[str]:
    """The failures of a case, with its name."""
    return [f"{short_name(case.case)}, {case.threads} thread(s): {line}" for line in failures(case)]
