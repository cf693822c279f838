"""swath verify: every byte of an artefact."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from swath.cli.flags import examples, output_flags
from swath.cli.outcome import NEGATIVE, OK, USAGE, Outcome, Output, Say, call, run


class Verified(msgspec.Struct, frozen=True):
    """One artefact: whether all its files have the size and digest that its manifest states, how
    many there are, and their bytes (0 where the manifest can't be read)."""

    path: str
    whole: bool
    files: int
    bytes: int


@click.command(
    "verify",
    epilog=examples(
        "swath verify model.swath",
    ),
)
@click.argument("artefacts", metavar="ARTEFACT...", nargs=-1, required=True,
                type=click.Path(path_type=Path))  # fmt: skip
@output_flags
def verify_command(artefacts: tuple[Path, ...], output: Output) -> None:
    """Check the digest of every file of each ARTEFACT, large tables included, and list everything
    that is missing, cut or altered.

    Exits with 1 if an artefact is damaged.
    """
    run("verify", output, lambda say: _verify(artefacts, say), model=str(artefacts[0]))


def _verify(artefacts: tuple[Path, ...], say: Say) -> Outcome:
    from swath.artifact.reader import read_manifest, verify_artifact
    from swath.errors import Problem
    from swath.report.table import size_text

    results: list[Verified] = []
    problems: list[Problem] = []
    lines: list[str] = []
    for path in artefacts:
        say(f"reading {path}")
        found = verify_artifact(path)
        problems += found
        if any(problem.id in ("SW201", "SW204", "SW205", "SW206") for problem in found):
            results.append(Verified(str(path), False, 0, 0))
            lines.append(f"{path}: unreadable")
            continue
        files = read_manifest(path).files
        size = sum(file.size for file in files)
        results.append(Verified(str(path), not found, len(files), size))
        verdict = "damaged" if found else "whole"
        lines.append(f"{path}: {verdict}, {len(files)} files, {size_text(size)}")
    missing = problems and all(problem.id == "SW201" for problem in problems)
    code = USAGE if missing else NEGATIVE if problems else OK
    following = call("swath", "explain", problems[0].id) if problems else ""
    return Outcome(results, "\n".join(lines), code, following, tuple(problems))
