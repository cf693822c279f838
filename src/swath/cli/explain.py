"""swath explain: the page of an error."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import TYPE_CHECKING

import click
import msgspec

from swath.cli.flags import examples, output_flags
from swath.cli.outcome import Outcome, Output, Say, run

if TYPE_CHECKING:
    from swath.errors import Entry


class Explained(msgspec.Struct, frozen=True):
    """One entry of the catalogue: what fails and what to write instead."""

    id: str
    title: str
    explanation: str
    failing: str
    repaired: str


@click.command(
    "explain",
    epilog=examples(
        "swath explain SW113",
        "swath explain",
    ),
)
@click.argument("id", metavar="[ID]", default="")
@output_flags
def explain_command(id: str, output: Output) -> None:
    """Explain the error ID with an example that fails and one that works; without ID list all."""
    run("explain", output, lambda say: _explain(id, say))


def _page(entry: Entry) -> str:
    """The entry with its explanation wrapped."""
    wrapped = "\n".join(textwrap.wrap(entry.explanation, 88))
    return str(dataclasses.replace(entry, explanation=wrapped))


def _explain(id: str, say: Say) -> Outcome:
    from swath.errors import Problem, SwathError, catalogue

    del say
    entries = catalogue()
    if not id:
        listed = [entries[key] for key in sorted(entries)]
        text = "\n".join(f"{entry.id}  {entry.title}" for entry in listed)
    elif id.upper() in entries:
        listed = [entries[id.upper()]]
        text = _page(listed[0])
    else:
        raise SwathError(
            Problem(
                "SW408",
                f"there is no error {id!r}",
                f"the catalogue has {len(entries)} entries",
                "list them with: swath explain",
            )
        )
    return Outcome(
        [Explained(e.id, e.title, e.explanation.strip(), e.failing, e.repaired) for e in listed],
        text,
    )
