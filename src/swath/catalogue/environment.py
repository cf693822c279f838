"""SW3xx: this machine lacks something."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = ()
