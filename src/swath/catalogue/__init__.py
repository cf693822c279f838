"""The entries of the error catalogue, one file per range of ids."""

from __future__ import annotations

from collections.abc import Iterator

from swath.catalogue import (
    artifact,
    commands,
    environment,
    graphs,
    inputs,
    internal,
    model,
    rows,
)
from swath.errors import Entry


def entries() -> Iterator[Entry]:
    """All entries, in the order of their ids within each range."""
    for part in (model, rows, graphs, inputs, artifact, environment, commands, internal):
        yield from part.ENTRIES
