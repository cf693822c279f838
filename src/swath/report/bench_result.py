"""What a bench found, as plain data that goes to JSON and back.

A time is microseconds per call, the Python call included. `median`, `low` and `high` are the 50th,
25th and 75th percentile over all calls of all turns.
"""

import json
import math
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, cast

OURS = "swath"
PACKAGES = ("swath", "torch", "onnxruntime", "openvino", "zentorch", "numpy")


@dataclass(frozen=True)
class Timing:
    """One peer at one batch; `difference` is the largest absolute one from eager's outputs."""

    batch: int
    median: float
    low: float
    high: float
    calls: int
    difference: float | None


@dataclass(frozen=True)
class PeerResult:
    """One peer on one case with one thread count: its timings, or why there are none.

    `failed` is why it could not be built; `failures` says for single batches (by their number) why
    it could not run.
    """

    peer: str
    build_seconds: float | None = None
    failed: str | None = None
    timings: list[Timing] = field(default_factory=list[Timing])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def at(self, batch: int) -> Timing | None:
        """The timing at `batch`, if there is one."""
        return next((timing for timing in self.timings if timing.batch == batch), None)


@dataclass(frozen=True)
class CaseResult:
    """All peers on one case with one thread count."""

    case: str
    threads: int
    peers: list[PeerResult]

    def of(self, peer: str) -> PeerResult | None:
        """The result of the peer called `peer`."""
        return next((result for result in self.peers if result.peer == peer), None)

    def best_peer(self, batch: int) -> tuple[str, float] | None:
        """The fastest peer other than swath at `batch` and its median."""
        medians = [
            (timing.median, result.peer)
            for result in self.peers
            if result.peer != OURS and (timing := result.at(batch)) is not None
        ]
        return (min(medians)[1], min(medians)[0]) if medians else None

    def ratio(self, batch: int) -> float | None:
        """The best peer's median over swath's: above 1, swath is faster."""
        best, ours = self.best_peer(batch), self.of(OURS)
        timing = ours.at(batch) if ours else None
        return best[1] / timing.median if best and timing else None


@dataclass(frozen=True)
class BenchReport:
    """A whole bench: where it ran, with what, and every case."""

    machine: dict[str, str]
    packages: dict[str, str]
    batches: list[int]
    cases: list[CaseResult]

    def write(self, path: Path) -> None:
        """Writes the report as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def read_report(path: Path) -> BenchReport:
    """The report that `BenchReport.write` wrote."""
    return report_of(cast(dict[str, Any], json.loads(path.read_text())))


def report_of(data: dict[str, Any]) -> BenchReport:
    """The report whose `asdict` is `data`."""
    cases = [
        CaseResult(
            case["case"],
            case["threads"],
            [
                PeerResult(
                    peer["peer"],
                    peer["build_seconds"],
                    peer["failed"],
                    [Timing(**timing) for timing in peer["timings"]],
                    peer["failures"],
                )
                for peer in case["peers"]
            ],
        )
        for case in data["cases"]
    ]
    return BenchReport(data["machine"], data["packages"], data["batches"], cases)


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean of positive numbers; None for none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at `share` (0 to 1) of an ascending sequence, linear between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def timing_of(batch: int, microseconds: Iterable[float], difference: float | None) -> Timing:
    """The percentiles of `microseconds`, which must not be empty."""
    ordered = sorted(microseconds)
    median, low, high = (round(percentile(ordered, share), 2) for share in (0.5, 0.25, 0.75))
    return Timing(batch, median, low, high, len(ordered), difference)


def describe_machine() -> dict[str, str]:
    """The processor, the cores that this process may use, and the Python version."""
    return {
        "processor": processor_name(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def processor_name() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_packages() -> dict[str, str]:
    """The versions of the packages that matter here, those that are installed."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
