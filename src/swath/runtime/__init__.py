"""Running a compiled program: validation, threads, tables; without torch or the compiler."""

from __future__ import annotations

from swath.runtime.program import Program, load

__all__ = ["Program", "load"]
