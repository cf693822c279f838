"""SW1xx: the inputs of a call don't fit the program."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = ()
