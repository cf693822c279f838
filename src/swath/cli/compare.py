"""swath compare: a program against its model in eager PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swath.cli.flags import compiler_flags, examples, model_argument, output_flags
from swath.cli.outcome import NEGATIVE, OK, Outcome, Output, Say, again, call, run
from swath.options import Input, Options

if TYPE_CHECKING:
    from swath.report.compare import Comparer, Comparison
    from swath.report.models import NamedModel
    from swath.runtime import Program


@dataclass(frozen=True, slots=True)
class Settings:
    """What the flags say."""

    model: str
    program: Path | None
    rows: int
    seed: int
    inputs: Path | None
    threads: int
    float64: bool
    bisect: bool
    declared: Mapping[str, Input]
    options: Options


@click.command(
    "compare",
    epilog=examples(
        "swath compare model.py:make",
        "swath compare model.py:make --program model.swath --rows 5000",
        "swath compare model.py:make --bisect",
    ),
)
@model_argument
@click.option("--program", type=click.Path(path_type=Path),
              help="An artefact of MODEL; without it MODEL is compiled.")  # fmt: skip
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True,
              help="Random rows: from the factory's make_inputs, else rows of the example inputs "
              "whose columns are mixed.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random rows.")
@click.option("--inputs", type=click.Path(path_type=Path),
              help="An .npz file with the rows instead, an array for each input.")  # fmt: skip
@click.option("--run-threads", type=click.IntRange(1), default=2, show_default=True,
              help="Threads against which one thread is compared.")  # fmt: skip
@click.option("--float64/--no-float64", default=True, show_default=True,
              help="Compare both with eager in float64 too.")  # fmt: skip
@click.option("--bisect", is_flag=True,
              help="Interpret the graph behind every pass on the worst rows, and name the first "
              "that leaves the tolerance.")  # fmt: skip
@compiler_flags
@output_flags
def compare_command(run_threads: int, output: Output, **flags: Any) -> None:
    """Compare the program of MODEL with MODEL in eager PyTorch, output by output: the largest
    absolute and relative difference, in units in the last place at the worst element, the row it
    is in, and both against float64. Then whether every row scores the same, bit for bit, in any
    batch, at any position and on any number of threads.

    Exits with 1 if an output differs by more than --tolerance, or a row scores differently.
    """
    settings = Settings(threads=run_threads, **flags)
    run("compare", output, lambda say: _compare(settings, say), model=settings.model)


def _compare(settings: Settings, say: Say) -> Outcome:
    from swath.report.bisect import Compared, bisect
    from swath.report.compare import Comparer, compare
    from swath.report.models import load_model
    from swath.report.rows import row_count

    say(f"loading {settings.model}")
    named = load_model(settings.model)
    with _program(named, settings, say) as program:
        comparer = Comparer(named, program)
        arrays = _arrays(comparer, settings)
        rows = row_count(program.manifest.inputs, arrays)
        say(f"comparing {rows} rows")
        tolerance = settings.options.tolerance
        found = compare(comparer, arrays, rows, tolerance, float64=settings.float64,
                        threads=settings.threads)  # fmt: skip
        bisection = None
        if settings.bisect and rows:
            bisection = bisect(comparer, arrays, rows, settings.declared, settings.options,
                               tolerance, say)  # fmt: skip
    from swath.report.compare_text import bisection_text, comparison_text

    text = comparison_text(found)
    if bisection is not None:
        text += "\n\n" + bisection_text(bisection)
    good = found.agrees and (bisection is None or bisection.first_bad is None)
    return Outcome(
        Compared(found, bisection), text, OK if good else NEGATIVE, _next(settings, found)
    )


def _program(named: NamedModel, settings: Settings, say: Say) -> Program:
    from swath.compiler import compile
    from swath.runtime import load

    if settings.program is not None:
        return load(settings.program)
    say("compiling")
    return compile(
        named.model,
        named.example_inputs,
        dynamic_shapes=named.dynamic_shapes,
        inputs=settings.declared,
        options=settings.options,
    )


def _arrays(comparer: Comparer, settings: Settings) -> list[Any]:
    from swath.report.rows import draw_rows, read_rows

    if settings.inputs is not None:
        return read_rows(comparer.manifest, settings.inputs)
    make_inputs = comparer.named.make_inputs
    if make_inputs is not None:
        return comparer.form.flatten(make_inputs(settings.rows, settings.seed))
    return draw_rows(comparer.manifest, comparer.form.example, settings.rows, settings.seed)


def _next(settings: Settings, found: Comparison) -> str:
    if found.agrees:
        return call("swath", "bench", settings.model)
    if not settings.bisect:
        return again("--bisect")
    return call("swath", "inspect", settings.model, "--passes")
