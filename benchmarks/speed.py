"""How fast swath and its peers run the models of the suite, and how far that is from the limit.

    python -m benchmarks.speed [MODEL ...] [--batches 1,16,128,1024] [--threads 1,2] [--peers ...]

Writes docs/benchmarks.md, docs/benchmarks.json and docs/benchmarks.svg. With `--keep` the models
that aren't named keep the results that docs/benchmarks.json has of them.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from benchmarks.cost import Cost, Limit, Rows, cost_of, limit_of
from benchmarks.models import MODELS
from benchmarks.speed_page import page
from swath.report.bench import BenchSettings, bench
from swath.report.bench_peers import PEERS
from swath.report.bench_plot import write_plot
from swath.report.bench_result import (
    BenchReport,
    CaseResult,
    describe_machine,
    describe_packages,
    report_of,
)
from swath.report.bench_table import case_table, short_name
from swath.report.machine import Machine, measure_machine

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "benchmarks.json"


def numbers(text: str) -> tuple[int, ...]:
    """`1,16` as (1, 16)."""
    return tuple(int(part) for part in text.split(","))


def arguments() -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if none is named")
    parser.add_argument("--batches", type=numbers, default=(1, 16, 128, 1024))
    parser.add_argument("--threads", type=numbers, default=(1,))
    parser.add_argument("--peers", default=",".join(peer.name for peer in PEERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.15, help="seconds of a peer's turn")
    parser.add_argument("--keep", action="store_true", help="keep what is known of other models")
    return parser.parse_args()


def cost_from(data: Mapping[str, Any]) -> Cost:
    """A cost as it was read from JSON."""
    rows = {int(batch): Rows(**found) for batch, found in data["rows"].items()}
    return Cost(data["operations_per_row"], data["weight_bytes"], rows)


def read_results() -> tuple[BenchReport, dict[str, Cost]] | None:
    """The report and costs of earlier runs."""
    if not RESULTS.exists():
        return None
    data = cast(dict[str, Any], json.loads(RESULTS.read_text()))
    return report_of(data["report"]), {n: cost_from(c) for n, c in data["costs"].items()}


def merged(old: BenchReport, new: BenchReport) -> BenchReport:
    """`new`, and the cases of `old` that it doesn't have, in the order of the suite."""
    cases = {(case.case, case.threads): case for case in [*old.cases, *new.cases]}
    places = {name: place for place, name in enumerate(MODELS)}
    ordered = sorted(cases.values(), key=lambda c: (c.threads, places.get(short_name(c.case), -1)))
    batches = sorted({*old.batches, *new.batches})
    return BenchReport(new.machine, new.packages, batches, ordered)


def limits_of(
    report: BenchReport, costs: Mapping[str, Cost], machine: Machine
) -> dict[tuple[str, int], Limit]:
    """The limit of each model at each batch."""
    return {
        (name, batch): limit_of(cost, machine, batch)
        for name, cost in costs.items()
        for batch in report.batches
        if batch in cost.rows
    }


def write(report: BenchReport, costs: Mapping[str, Cost], machine: Machine) -> None:
    """Writes the three files."""
    data = {
        "limits": asdict(machine),
        "report": asdict(report),
        "costs": {name: asdict(cost) for name, cost in costs.items()},
    }
    RESULTS.write_text(json.dumps(data, indent=1) + "\n")
    (DOCS / "benchmarks.md").write_text(page(report, machine, limits_of(report, costs, machine)))
    write_plot(report, DOCS / "benchmarks.svg")


def main() -> int:
    """The command line; returns the exit code."""
    options = arguments()
    settings = BenchSettings(
        batches=options.batches,
        threads=options.threads,
        peers=tuple(options.peers.split(",")),
        rounds=options.rounds,
        turn_seconds=options.turn,
    )
    machine = measure_machine()
    report, costs = BenchReport({}, {}, [], []), dict[str, Cost]()
    if options.keep and (known := read_results()) is not None:
        report, costs = known
    names = options.models or list(MODELS)
    for name in names:
        known_batches = costs[name].rows if name in costs else ()
        if not set(options.batches) <= set(known_batches):
            batches = sorted({*options.batches, *known_batches})
            costs[name] = cost_of(MODELS[name](), batches, settings.input_sets)

    def keep(case: CaseResult) -> None:
        # Written after each case: a run that is stopped loses one.
        nonlocal report
        new = BenchReport(describe_machine(), describe_packages(), list(options.batches), [case])
        report = merged(report, new)
        write(report, costs, machine)
        print(case_table(case, options.batches), flush=True)

    bench([f"benchmarks.models:MODELS.{name}" for name in names], settings, report_progress, keep)
    return 0


def report_progress(line: str) -> None:
    """A line on standard error."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
