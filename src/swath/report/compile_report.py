"""What the compiler did, as the artefact keeps it (report.json): passes, kernels, scratch plan.

The numbers of a kernel are what it needs at least: every element of a weight or buffer counted
once, however often its loops read it.
"""

from __future__ import annotations

import msgspec


class PassLine(msgspec.Struct, frozen=True):
    """One pass: nodes and constants of the graph before and after it, seconds it took."""

    name: str
    nodes_before: int
    nodes_after: int
    constants_before: int
    constants_after: int
    seconds: float


class KernelLine(msgspec.Struct, frozen=True):
    """One kernel, in the order in which they run over each swath of rows.

    function      its function in source/program.cpp; kernels of one structure share one
    destination   where its result goes
    origin        the value that it makes, and module path, file and line in the model
    flops         floating point operations per row; a multiply-add is two
    table_bytes   bytes of table rows read per row, in cache lines; 0 for bags
    bag_bytes     bytes of table rows read per id of a bag, in cache lines; 0 for other kernels
    tables_size   bytes of the tables that it looks up in
    weight_bytes  bytes of weights read per swath
    moved_bytes   bytes per row read from and written to inputs, scratch and outputs
    """

    number: int
    kind: str
    function: str
    destination: str
    origin: str
    flops: float
    table_bytes: float
    bag_bytes: float
    tables_size: int
    weight_bytes: float
    moved_bytes: float


class BufferLine(msgspec.Struct, frozen=True):
    """A scratch buffer of one swath: its bytes [offset, offset + bytes) of the arena, and the first
    and last kernel that touches it (by number)."""

    name: str
    dtype: str
    row_elements: int
    offset: int
    bytes: int
    first: int
    last: int


class CompileReport(msgspec.Struct, frozen=True):
    """All of report.json. `scratch_bytes` is the arena of one thread, its peak; what lies
    behind the buffers are addresses of table rows."""

    passes: tuple[PassLine, ...]
    kernels: tuple[KernelLine, ...]
    buffers: tuple[BufferLine, ...]
    scratch_bytes: int
    rows_per_swath: int
    seconds: dict[str, float] = {}


def function_source(source: str, function: str) -> str:
    """The text of one function of program.cpp, with its comment and its tables."""
    lines = source.splitlines()
    start = next(
        (
            i
            for i, line in enumerate(lines)
            if f" {function}(" in line and line.startswith("static ")
        ),
        None,
    )
    if start is None:
        return ""
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    while start and lines[start - 1].strip():
        start -= 1
    return "\n".join(lines[start : end + 1])
