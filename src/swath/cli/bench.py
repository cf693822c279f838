"""swath bench: a model against its peers, or an artefact alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swath.cli.flags import examples, number_list, output_flags, word_list
from swath.cli.outcome import NEGATIVE, OK, Outcome, Output, Say, call, run

if TYPE_CHECKING:
    from swath.report.bench_result import BenchReport


@dataclass(frozen=True, slots=True)
class Settings:
    """What the flags say."""

    models: tuple[str, ...]
    batches: tuple[int, ...]
    threads: tuple[int, ...]
    peers: tuple[str, ...]
    rounds: int
    turn: float
    write: Path | None
    plot: Path | None


@click.command(
    "bench",
    epilog=examples(
        "swath bench model.py:make --batches 1,128 --peers swath,eager",
        "swath bench model.swath --threads 1,2",
    ),
)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--batches", callback=number_list(0), metavar="N,...",
              default="1,16,128,1024", show_default=True, help="Rows of a call.")  # fmt: skip
@click.option("--threads", callback=number_list(1), metavar="N,...", default="1",
              show_default=True, help="Threads that a call may use.")  # fmt: skip
@click.option("--peers", callback=word_list, metavar="NAME,...",
              help="swath, eager, inductor, inductor_max, aot_inductor, onnxruntime, openvino, "
              "zentorch.  [default: all]")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True,
              help="Turns that every peer takes, one after the other.")  # fmt: skip
@click.option("--turn", type=click.FloatRange(0, min_open=True), default=0.15, show_default=True,
              help="Seconds of a turn.")  # fmt: skip
@click.option("--write", type=click.Path(path_type=Path), help="Write the results as JSON.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw them as SVG.")
@output_flags
def bench_command(
    models: tuple[str, ...],
    batches: tuple[int, ...],
    threads: tuple[int, ...],
    peers: tuple[str, ...] | None,
    rounds: int,
    turn: float,
    write: Path | None,
    plot: Path | None,
    output: Output,
) -> None:
    """Time MODEL (one or more) in microseconds per call, Python call included: the median, and the
    25th and 75th percentile. Each peer runs in a process of its own, on the same inputs, ids
    changing from call to call, turns interleaved. A peer that fails is shown with the reason.

    An artefact (a folder) is timed alone, on synthetic inputs, and needs no PyTorch.

    Exits with 1 if swath itself fails on a model.
    """
    settings = Settings(models, batches, threads, peers or (), rounds, turn, write, plot)
    run("bench", output, lambda say: _bench(settings, say), model=models[0])


def _bench(settings: Settings, say: Say) -> Outcome:
    artefacts = [name for name in settings.models if _is_artefact(name)]
    models = [name for name in settings.models if not _is_artefact(name)]
    reports: list[BenchReport] = []
    texts: list[str] = []
    if models:
        report, text = _bench_models(settings, models, say)
        reports.append(report)
        texts.append(text)
    for name in artefacts:
        from swath.report.program_bench import bench_program, program_table

        seconds = settings.rounds * settings.turn
        report = bench_program(Path(name), settings.batches, settings.threads, seconds, say)
        reports.append(report)
        texts.append(f"{name}\n{program_table(report)}")
    whole = _together(reports)
    if settings.write is not None:
        whole.write(settings.write)
    if settings.plot is not None:
        from swath.report.bench_plot import write_plot

        write_plot(whole, settings.plot)
    failed = [case.case for case in whole.cases if _swath_failed(case)]
    following = call("swath", "check", failed[0]) if failed else ""
    return Outcome(whole, "\n\n".join(texts), NEGATIVE if failed else OK, following)


def _bench_models(settings: Settings, models: list[str], say: Say) -> tuple[BenchReport, str]:
    from swath.report.bench import BenchSettings, bench
    from swath.report.bench_case import load_case
    from swath.report.bench_peers import PEERS
    from swath.report.bench_table import bench_table

    known = tuple(peer.name for peer in PEERS)
    unknown = [name for name in settings.peers if name not in known]
    if unknown:
        raise click.BadParameter(f"there is no peer {unknown[0]!r}; there are {', '.join(known)}",
                                 param_hint="--peers")  # fmt: skip
    for name in models:  # a wrong one is told here, with its reason, and not by every peer
        say(f"loading {name}")
        load_case(name)
    chosen = BenchSettings(
        batches=settings.batches,
        threads=settings.threads,
        peers=settings.peers or known,
        rounds=settings.rounds,
        turn_seconds=settings.turn,
    )
    report = bench(models, chosen, say)
    return report, bench_table(report)


def _is_artefact(name: str) -> bool:
    return name.endswith(".swath") or Path(name).is_dir()


def _together(reports: list[BenchReport]) -> BenchReport:
    from swath.report.bench_result import BenchReport

    cases = [case for report in reports for case in report.cases]
    first = reports[0]
    return BenchReport(first.machine, first.packages, first.batches, cases)


def _swath_failed(case: object) -> bool:
    from swath.report.bench_result import OURS, CaseResult

    assert isinstance(case, CaseResult)
    ours = case.of(OURS)
    return ours is not None and (ours.failed is not None or bool(ours.failures))
