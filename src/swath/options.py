"""Every knob of the compiler, in one frozen object which the artefact keeps."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from swath.errors import InvalidInput, Problem

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

    def __post_init__(self) -> None:
        if self.ids not in get_args(IdPolicy):
            what, why = f"ids={self.ids!r}", f"it is one of {', '.join(get_args(IdPolicy))}"
        elif self.default_row < 0:
            what, why = f"default_row={self.default_row}", "rows of a table are counted from 0"
        else:
            return
        fix = 'use swath.Input(ids="default_row", default_row=0)'
        raise InvalidInput(Problem("SW119", f"Input() can't take {what}", why, fix))


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

    def __post_init__(self) -> None:
        wrong = [name for name, fits in self._fits() if not fits]
        if wrong:
            name = wrong[0]
            what = f"{name}={getattr(self, name)!r}"
            raise unfit_options(what, "leave it out, or see the documentation of swath.Options")

    def _fits(self) -> tuple[tuple[str, bool], ...]:
        return (
            ("targets", bool(self.targets) and not isinstance(self.targets, str)),
            ("rows_per_swath", self.rows_per_swath >= 0),
            ("threads", self.threads >= 0),
            ("disabled_passes", not isinstance(self.disabled_passes, str)),
            ("tolerance", len(self.tolerance) == 2 and min(self.tolerance) >= 0),
        )


def unfit_options(what: str, fix: str) -> InvalidInput:
    """The error for options that have no meaning."""
    return InvalidInput(Problem("SW120", f"Options() can't take {what}", "it has no meaning", fix))
