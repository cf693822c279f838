"""Seconds that the steps of something take."""

from __future__ import annotations

import time


class Clock:
    """`mark("name")` ends a step that began at the mark before; `seconds` has them all."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, step: str) -> None:
        """End a step."""
        now = time.perf_counter()
        self.seconds[step] = round(self.seconds.get(step, 0.0) + now - self._last, 6)
        self._last = now
