"""The bench: every peer in a process of its own, their turns interleaved, the same inputs for all.

    report = bench(["file.py:factory"], BenchSettings(batches=(1, 128), threads=(1,)))
    print(bench_table(report))

All workers of a case are built first, one after the other. Then, batch by batch, each takes a short
turn while the others sleep, round after round, so that a drift of the machine (frequency,
neighbours) hits all alike.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from swath.report.bench_peers import PEERS, Peer, peer_named
from swath.report.bench_result import (
    BenchReport,
    CaseResult,
    PeerResult,
    Timing,
    describe_machine,
    describe_packages,
    timing_of,
)

# A worker's threads may spin for a while after its last call (OpenMP runtimes up to 0.2 s); the
# next turn must not pay for that.
SETTLE_SECONDS = 0.25


@dataclass(frozen=True)
class BenchSettings:
    """What is benched and for how long.

    Each peer takes `rounds` turns of `turn_seconds` at every batch, each call on the next of
    `input_sets` inputs (so that ids change from call to call). A build that takes longer than
    `build_seconds` is stopped and shown as failed.
    """

    batches: tuple[int, ...] = (1, 16, 128, 1024)
    threads: tuple[int, ...] = (1,)
    peers: tuple[str, ...] = tuple(peer.name for peer in PEERS)
    rounds: int = 5
    turn_seconds: float = 0.15
    turn_calls: int = 2000
    input_sets: int = 16
    build_seconds: float = 900.0


class WorkerError(Exception):
    """A worker answered that it failed, died, or took too long; the message is the reason."""


class WorkerProcess:
    """A peer's process, spoken to in lines of JSON."""

    def __init__(self, peer: Peer, threads: int, folder: Path) -> None:
        self.peer = peer
        self.log = folder / f"{peer.name}-{threads}.log"
        self._log_file = self.log.open("w")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "swath.report.bench_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            text=True,
            env=worker_environment(threads, folder),
            start_new_session=True,
        )

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Sends `message` and waits at most `seconds` for the answer. Raises WorkerError."""
        requests = cast(TextIO, self._process.stdin)
        answers = cast(TextIO, self._process.stdout)
        try:
            requests.write(json.dumps(message) + "\n")
            requests.flush()
        except BrokenPipeError as error:
            raise WorkerError(self._last_words()) from error
        if not select.select([answers], [], [], seconds)[0]:
            raise WorkerError(f"took more than {seconds:.0f} s")
        line = answers.readline()
        if not line:
            raise WorkerError(self._last_words())
        answer = cast(dict[str, Any], json.loads(line))
        if "failed" in answer:
            raise WorkerError(answer["failed"])
        return answer

    def close(self) -> None:
        """Ends the process and its children."""
        # The worker leads a session of its own: compilers that it started end with it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log_file):
            if stream is not None:
                stream.close()

    def _last_words(self) -> str:
        code = self._process.wait()
        lines = [line for line in self.log.read_text().splitlines() if line.strip()]
        died = f"killed by signal {-code}" if code < 0 else f"exited with {code}"
        return f"{died}: {lines[-1].strip()[:200]}" if lines else died


def worker_environment(threads: int, folder: Path) -> dict[str, str]:
    """The environment of a worker: thread counts fixed, compiler caches within the run.

    `folder` is that of the case. Inductor keeps precompiled headers beside its kernels; shared by
    all cases of a run, they burden the build time of the first one alone, as they do for a user.
    """
    counts = {
        name: str(threads)
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(folder.parent / "inductor")}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, **counts, **caches, "PYTHONPATH": path}


def bench(
    cases: Sequence[str],
    settings: BenchSettings | None = None,
    say: Callable[[str], None] = lambda _line: None,
    found: Callable[[CaseResult], None] = lambda _result: None,
) -> BenchReport:
    """Benches every case (named as in `load_case`) with every thread count.

    `say` gets a line on each step, `found` each result as soon as it is there. A peer that can't be
    built or run is in the report with the reason; the bench itself goes on.
    """
    chosen = settings or BenchSettings()
    results: list[CaseResult] = []
    with tempfile.TemporaryDirectory(prefix="swath-bench-") as run:
        for case in cases:
            for threads in chosen.threads:
                with tempfile.TemporaryDirectory(prefix="case-", dir=run) as folder:
                    result = bench_case(case, threads, chosen, Path(folder), say)
                found(result)
                results.append(result)
    return BenchReport(describe_machine(), describe_packages(), list(chosen.batches), results)


def bench_case(
    case: str,
    threads: int,
    settings: BenchSettings,
    folder: Path,
    say: Callable[[str], None],
) -> CaseResult:
    """One case with one thread count: builds all peers, then interleaves their turns."""
    running = RunningCase(case, threads, settings, folder)
    try:
        for name in settings.peers:
            result = running.build(peer_named(name))
            outcome = result.failed or f"{result.build_seconds:.1f} s"
            say(f"{case}  {threads} thread(s)  build {name}: {outcome}")
        for batch in settings.batches:
            timings = running.time(batch)
            say(f"{case}  {threads} thread(s)  batch {batch}: {one_line(timings)}")
    finally:
        running.close()
    return CaseResult(case, threads, list(running.results.values()))


class RunningCase:
    """The workers of one case with one thread count, and what is known of each so far."""

    def __init__(self, case: str, threads: int, settings: BenchSettings, folder: Path) -> None:
        self.case = case
        self.threads = threads
        self.settings = settings
        self.folder = folder
        self.workers: dict[str, WorkerProcess] = {}
        self.results: dict[str, PeerResult] = {}

    def build(self, peer: Peer) -> PeerResult:
        """Starts the peer's process and builds the case in it."""
        self.results[peer.name] = self._build(peer)
        return self.results[peer.name]

    def _build(self, peer: Peer) -> PeerResult:
        if find_spec(peer.package) is None:
            return PeerResult(peer.name, failed=f"{peer.package} is not installed")
        worker = WorkerProcess(peer, self.threads, self.folder)
        message = {
            "do": "build",
            "case": self.case,
            "peer": peer.name,
            "threads": self.threads,
            "folder": str(self.folder),
        }
        try:
            answer = worker.ask(message, self.settings.build_seconds)
        except WorkerError as error:
            worker.close()
            return PeerResult(peer.name, failed=str(error))
        except BaseException:
            # Stopped by the user in the middle of a build: nobody else knows this process yet.
            worker.close()
            raise
        self.workers[peer.name] = worker
        return PeerResult(peer.name, build_seconds=round(float(answer["seconds"]), 2))

    def time(self, batch: int) -> dict[str, Timing]:
        """Times all workers at one batch; `results` gets the timings, or why one has none."""
        settings = self.settings
        taken: dict[str, list[float]] = {name: [] for name in self.workers}
        prepare = {"do": "prepare", "batch": batch, "sets": settings.input_sets}
        for name in list(taken):
            output = str(output_file(self.folder, name, batch))
            self._ask_or_drop(name, {**prepare, "output": output}, batch, taken)
        turn = {"do": "turn", "seconds": settings.turn_seconds, "calls": settings.turn_calls}
        for round_number in range(settings.rounds):
            for name in rotated(list(taken), round_number):
                time.sleep(SETTLE_SECONDS if self.threads > 1 else 0)
                self._ask_or_drop(name, turn, batch, taken)
        timings = {
            name: timing_of(batch, microseconds, difference_from_eager(self.folder, name, batch))
            for name, microseconds in taken.items()
        }
        for name, timing in timings.items():
            self.results[name].timings.append(timing)
        return timings

    def _ask_or_drop(
        self, name: str, message: dict[str, Any], batch: int, taken: dict[str, list[float]]
    ) -> None:
        """Adds a worker's times to `taken`; one that fails is dropped from it."""
        try:
            answer = self.workers[name].ask(message, self.settings.build_seconds)
            taken[name].extend(cast(list[float], answer.get("microseconds", [])))
        except WorkerError as error:
            self.results[name].failures[str(batch)] = str(error)
            del taken[name]

    def close(self) -> None:
        """Ends all processes."""
        for worker in self.workers.values():
            worker.close()


def rotated(names: list[str], by: int) -> list[str]:
    """`names` beginning elsewhere each round, so that nobody always follows the same peer."""
    start = by % len(names) if names else 0
    return names[start:] + names[:start]


def output_file(folder: Path, peer: str, batch: int) -> Path:
    """Where a worker leaves the outputs of the first input set."""
    return folder / f"output-{peer}-{batch}.npz"


def difference_from_eager(folder: Path, peer: str, batch: int) -> float | None:
    """The largest absolute difference between a peer's outputs and eager's, None where eager has
    not run.

    Infinite when the number or the shapes of the outputs differ.
    """
    reference = output_file(folder, "eager", batch)
    if not reference.exists():
        return None
    with np.load(reference) as expected, np.load(output_file(folder, peer, batch)) as found:
        if len(expected.files) != len(found.files):
            return float("inf")
        worst = 0.0
        for name in expected.files:
            left, right = expected[name], found[name]
            if left.shape != right.shape:
                return float("inf")
            if left.size:
                worst = max(worst, float(np.abs(left.astype(np.float64) - right).max()))
    return worst


def one_line(timings: dict[str, Timing]) -> str:
    """The medians, fastest first, in one line."""
    ordered = sorted(timings.items(), key=lambda item: item[1].median)
    return "  ".join(f"{name} {timing.median:.1f}" for name, timing in ordered)
