"""SW0xx: the model can't be imported or compiled."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = ()
