"""How every command ends: text or JSON on stdout, problems and `next:` on stderr, an exit code.

With --json stdout holds one document, whatever happens:

    {"swath": version, "command": name, "exit": code, "problems": [...], "next": line or null,
     "result": {...} or null}

`result` is the struct that the command documents. A number that isn't finite is null.
"""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, NoReturn

import click
import msgspec

from swath.errors import (
    EnvironmentProblem,
    InternalError,
    InvalidArtifact,
    Problem,
    SwathError,
    UnsupportedModel,
)
from swath.version import VERSION

OK, NEGATIVE, USAGE, UNSUPPORTED, ENVIRONMENT = range(5)
# An artefact that isn't there or is in the way is a wrong use; other ones are damaged.
_MISPLACED = ("SW201", "SW207", "SW208")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Output:
    """How to print: `json` instead of text, `quiet` without progress."""

    json: bool = False
    quiet: bool = False

    def say(self, line: str) -> None:
        """A line of progress, on stderr."""
        if not self.quiet:
            click.echo(line, err=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command found: `result` for JSON, `text` for people, and where to go from here."""

    result: Any
    text: str
    code: int = OK
    next: str = ""
    problems: tuple[Problem, ...] = ()


class ProblemData(msgspec.Struct, frozen=True):
    """A problem in JSON; `module`, `file`, `line` and `source` say where, as far as it is known."""

    id: str
    what: str
    why: str
    fix: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    source: str | None = None


class Document(msgspec.Struct, frozen=True):
    """The JSON document of every command (see the head of this file)."""

    swath: str
    command: str
    exit: int
    problems: tuple[ProblemData, ...]
    next: str | None
    result: Any


def run(
    command: str, output: Output, body: Callable[[Say], Outcome], *, model: str = ""
) -> NoReturn:
    """Run a command to its end. What the model prints goes to stderr, so that stdout is the result.

    `model` is how the user named the model or artefact, for the `next:` line of a failure.
    """
    try:
        # Whatever is printed meanwhile is no result.
        with redirect_stdout(sys.stderr):
            outcome = body(output.say)
    except SwathError as error:
        outcome = _failed(error, command, model)
    except (click.ClickException, click.Abort, KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        traceback.print_exc()
        outcome = _failed(_unforeseen(error), command, model)
    _print(command, output, outcome)
    sys.exit(outcome.code)


def call(*words: str) -> str:
    """A command line that a shell takes as it is."""
    return " ".join(shlex.quote(word) for word in words)


def again(*words: str) -> str:
    """The command line that is running, with more words."""
    given: list[str] = click.get_current_context().obj or []
    return call("swath", *given, *words)


def exit_code(error: SwathError) -> int:
    """The exit code that an error ends with."""
    if isinstance(error, UnsupportedModel | InternalError):
        return UNSUPPORTED
    if isinstance(error, EnvironmentProblem):
        return ENVIRONMENT
    if isinstance(error, InvalidArtifact):
        return USAGE if error.problem.id in _MISPLACED else NEGATIVE
    return USAGE


def _failed(error: SwathError, command: str, model: str) -> Outcome:
    problems = error.problems if isinstance(error, UnsupportedModel) else (error.problem,)
    code = exit_code(error)
    following = call("swath", "explain", problems[0].id)
    if isinstance(error, UnsupportedModel) and command != "check" and model:
        following = call("swath", "check", model)
    elif code == ENVIRONMENT:
        following = call("swath", "doctor")
    elif code == NEGATIVE and isinstance(error, InvalidArtifact) and model:
        following = call("swath", "verify", model)
    return Outcome(None, "", code, following, tuple(problems))


def _unforeseen(error: Exception) -> InternalError:
    said = " ".join(str(error).split())[:300]
    return InternalError(
        Problem(
            "SW900",
            "swath failed in a way that nobody foresaw",
            f"{type(error).__name__}: {said}",
            "report it with the traceback above, and the model if you can",
        )
    )


def _print(command: str, output: Output, outcome: Outcome) -> None:
    # Problems are told to people in any case; JSON repeats them.
    for problem in outcome.problems:
        click.echo(f"{problem}\n", err=True)
    if output.json:
        document = Document(
            VERSION,
            command,
            outcome.code,
            problem_data(outcome.problems),
            outcome.next or None,
            outcome.result,
        )
        text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
        click.echo(text)
    elif outcome.text:
        click.echo(outcome.text)
    if outcome.next:
        click.echo(f"next: {outcome.next}", err=True)


def problem_data(problems: Iterable[Problem]) -> tuple[ProblemData, ...]:
    """Problems as JSON has them."""
    return tuple(
        ProblemData(
            problem.id,
            problem.what,
            problem.why,
            problem.fix,
            problem.where.module,
            problem.where.file,
            problem.where.line,
            problem.where.source,
        )
        for problem in problems
    )
