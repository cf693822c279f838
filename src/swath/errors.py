"""The one catalogue of errors.

Whatever swath refuses, it refuses with a `Problem`: an id, what happened, where, why, and what to
do about it. The ids are grouped by who can act on them:

    SW0xx   the model can't be imported or compiled
    SW1xx   the inputs of a call don't fit the program
    SW2xx   an artefact is damaged, foreign or can't be written
    SW3xx   this machine lacks something (a compiler, an instruction set)
    SW4xx   a command names something that isn't there
    SW9xx   a defect of swath

Every id has an entry in `swath.catalogue` with a failing and a repaired example; `swath explain
ID` prints it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the user's world; whatever isn't known is None.

    `module` is a module path in the model, an input name or an artefact file.
    """

    module: str | None = None
    file: str | None = None
    line: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        place = self.module or ""
        if self.file is not None:
            spot = self.file if self.line is None else f"{self.file}:{self.line}"
            place = f"{place}  ({spot})" if place else spot
        if self.source is not None:
            place = f"{place}   {self.source.strip()}" if place else self.source.strip()
        return place


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong, told to the person who can act on it."""

    id: str
    what: str
    why: str
    fix: str
    where: Where = field(default_factory=Where)

    def __str__(self) -> str:
        lines = [f"error[{self.id}]: {self.what}"]
        place = str(self.where)
        if place:
            lines.append(f"  in      {place}")
        lines.append(f"  why     {self.why}")
        lines.append(f"  fix     {self.fix}")
        lines.append(f"  more    swath explain {self.id}")
        return "\n".join(lines)


class SwathError(Exception):
    """The base of every error that swath raises on purpose; `problem` says what happened."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return str(self.problem)


class UnsupportedModel(SwathError):
    """The model holds constructs that can't be compiled; `problems` lists all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems[0])

    def __reduce__(self) -> tuple[type[UnsupportedModel], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)

    def __str__(self) -> str:
        return "\n\n".join(str(problem) for problem in self.problems)


class InvalidInput(SwathError, ValueError):
    """An input of a call doesn't fit the program."""


class ProgramClosed(SwathError):
    """A program was used after `close()`."""


class InvalidArtifact(SwathError):
    """An artefact is damaged, foreign, or can't be read or written."""


class EnvironmentProblem(SwathError):
    """This machine lacks something that is needed: a compiler, an instruction set, a package."""


class InternalError(SwathError):
    """A defect of swath: two of its parts disagree. The message speaks to the developer of one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What `swath explain` says about an id: why it exists, and an example before and after the
    repair.
    """

    id: str
    title: str
    explanation: str
    failing: str
    repaired: str

    def __str__(self) -> str:
        parts = [f"{self.id}: {self.title}", self.explanation.strip()]
        parts += ["Fails:", _indent(self.failing), "Use instead:", _indent(self.repaired)]
        return "\n\n".join(parts)


def catalogue() -> Mapping[str, Entry]:
    """Every error that swath can raise, by id."""
    from swath.catalogue import entries

    return {entry.id: entry for entry in entries()}


def _indent(text: str) -> str:
    return "\n".join("    " + line if line else "" for line in text.strip("\n").splitlines())
