"""Every knob of the compiler, in one frozen object which the artefact keeps."""

from __future__ import annotations

from typing import Literal

import msgspec

IdPolicy = Literal["error", "default_row", "modulo"]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """What the user declares of one input of the model.

    `ids` says what happens to an id outside of its table: "error" (the call fails and names the
    row and the value), "default_row" (the id becomes `default_row`) or "modulo" (the id modulo the
    table's rows, never negative). `ragged` marks a flat list of values whose rows are given by the
    offsets input that it names.
    """

    ids: IdPolicy = "error"
    default_row: int = 0
    ragged: str | None = None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to compile.

    targets: ISA levels to build a library for; the best that the CPU has is taken at load.
    rows_per_swath: rows carried through the model at once; 0 lets the cost model choose.
    threads: most threads that one call may use; 0 means all cores.
    disabled_passes: names of optional passes to leave out (see `swath inspect`).
    tolerance: largest absolute and relative difference that `swath compare` accepts.
    compiler: C++ compiler command; empty to look for g++, clang++ and the ziglang wheel.
    """

    targets: tuple[str, ...] = ("x86-64-v3", "x86-64-v4")
    rows_per_swath: int = 0
    threads: int = 0
    disabled_passes: tuple[str, ...] = ()
    tolerance: tuple[float, float] = (1e-5, 1e-4)
    compiler: str = ""
