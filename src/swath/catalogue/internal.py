"""SW9xx: a defect of swath."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = ()
