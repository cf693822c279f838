"""SW2xx: an artefact is damaged, foreign or can't be written."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = ()
