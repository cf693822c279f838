"""swath check: what would compile, every problem at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from swath.cli.flags import compiler_flags, examples, model_argument, output_flags
from swath.cli.outcome import Outcome, Output, Say, call, run
from swath.options import Input, Options

if TYPE_CHECKING:
    from swath.report.checking import Checked


@click.command(
    "check",
    epilog=examples(
        "swath check model.py:make",
        "swath check models.deepfm:make --json",
    ),
)
@model_argument
@compiler_flags
@output_flags
def check_command(
    model: str, declared: Mapping[str, Input], options: Options, output: Output
) -> None:
    """Say whether MODEL would compile, and list every problem at once: what, where in the model's
    source, why, and how to repair it. Nothing is built or written.

    Exits with 3 if there are problems.
    """
    run("check", output, lambda say: _check(model, declared, options, say), model=model)


def _check(model: str, declared: Mapping[str, Input], options: Options, say: Say) -> Outcome:
    from swath.report.checking import check_model
    from swath.report.models import load_model

    say(f"loading {model}")
    named = load_model(model)
    say("importing")
    found = check_model(named, declared, options)
    return Outcome(found, _text(found), next=call("swath", "compile", model))


def _text(found: Checked) -> str:
    from swath.report.table import columns, size_text

    ports = [["input", name, type] for name, type in found.inputs.items()]
    ports += [["output", name, type] for name, type in found.outputs.items()]
    return "\n".join(
        [
            f"{found.model} compiles",
            *columns(ports, left=(0, 1, 2)),
            f"{found.operations_imported} operations, {found.operations} behind the passes",
            f"{size_text(found.table_bytes)} of tables, {size_text(found.weight_bytes)} of weights",
        ]
    )
