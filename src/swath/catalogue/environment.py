"""SW3xx: this machine lacks something."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW310",
        "the artefact has no library that this CPU can run",
        "An artefact holds one library for each ISA that was asked for; the best one that the CPU"
        " has is taken at load.",
        'swath.Options(targets=("x86-64-v4",))    # and then loaded on a CPU without AVX-512',
        'swath.Options(targets=("x86-64-v3", "x86-64-v4"))',
    ),
)
