"""swath doctor: this machine and environment."""

from __future__ import annotations

import click

from swath.cli.flags import examples, output_flags
from swath.cli.outcome import ENVIRONMENT, OK, Outcome, Output, Say, run


@click.command(
    "doctor",
    epilog=examples(
        "swath doctor",
    ),
)
@output_flags
def doctor_command(output: Output) -> None:
    """Check what compiling and running need: Python, the extension, the CPU and its ISA levels, a
    C++ compiler that builds a library, PyTorch, threads and memory within the container's limits.
    Each line says ok, note (only some commands need it) or problem, and how to repair it.

    Exits with 4 if there is a problem.
    """
    run("doctor", output, _doctor)


def _doctor(say: Say) -> Outcome:
    from swath.report.doctor import diagnose, diagnosis_text

    say("checking")
    found = diagnose()
    following = "" if found.healthy else "swath doctor --json"
    code = OK if found.healthy else ENVIRONMENT
    return Outcome(found, diagnosis_text(found), code, following)
