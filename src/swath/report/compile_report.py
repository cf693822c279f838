"""What the compiler did, as the artefact keeps it (report.json): passes, kernels, scratch plan.

The numbers of a kernel are what it needs at least: every element of a weight or buffer counted
once, however often its loops read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod

import msgspec

from swath.graph.types import DType
from swath.passes.pipeline import PassReport
from swath.stages.schedule import kernel_work
from swath.stages.scratch import buffer_bytes, lifetimes
from swath.tile.expressions import views_of
from swath.tile.kernels import Kernel, Lookup, Order, Program, expressions_of
from swath.tile.views import Buffer, BufferKind, View


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
    table_bytes   bytes of table rows read per row, in cache lines
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
    """All of report.json. `scratch_bytes` is the arena of one thread, its peak."""

    passes: tuple[PassLine, ...]
    kernels: tuple[KernelLine, ...]
    buffers: tuple[BufferLine, ...]
    scratch_bytes: int
    rows_per_swath: int
    seconds: dict[str, float] = {}


def compile_report(
    passes: Iterable[PassReport],
    program: Program,
    source: str,
    seconds: dict[str, float] | None = None,
) -> CompileReport:
    """The report of a compilation; `source` is program.cpp, `seconds` those of each step."""
    functions = _called_functions(source, len(program.kernels))
    return CompileReport(
        tuple(
            PassLine(
                p.name,
                p.nodes_before,
                p.nodes_after,
                p.constants_before,
                p.constants_after,
                round(p.seconds, 6),
            )
            for p in passes
        ),
        tuple(
            _kernel_line(number, kernel, functions[number])
            for number, kernel in enumerate(program.kernels)
        ),
        _buffer_lines(program),
        program.scratch_bytes,
        program.rows_per_swath,
        dict(seconds or {}),
    )


def encode_report(report: CompileReport) -> str:
    """The text of report.json."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def _kernel_line(number: int, kernel: Kernel, function: str) -> KernelLine:
    flops, table_bytes = kernel_work(kernel)
    reads = {view for expression in expressions_of(kernel) for view in views_of(expression)}
    weights = sum(_bytes(view) for view in reads if view.buffer.kind is BufferKind.WEIGHT)
    moved = [view for view in reads if view.buffer.kind is not BufferKind.WEIGHT]
    written = _written(kernel)
    return KernelLine(
        number,
        type(kernel).__name__.lower(),
        function,
        ", ".join(_view_text(view) for view in written),
        kernel.comment,
        flops,
        table_bytes if isinstance(kernel, Lookup) else 0.0,
        float(weights),
        float(sum(map(_bytes, [*moved, *written]))),
    )


def _written(kernel: Kernel) -> list[View]:
    if isinstance(kernel, Order):
        return [view for view in (kernel.values, kernel.indices) if view is not None]
    return [kernel.destination]


def _bytes(view: View) -> int:
    """Bytes of the different elements of one row of a view."""
    pairs = zip(view.shape, view.strides, strict=True)
    return prod(size for size, stride in pairs if stride) * view.buffer.dtype.size


def _view_text(view: View) -> str:
    shape = ",".join(map(str, view.shape))
    start = f"+{view.offset}" if view.offset else ""
    return f"{view.buffer.name}{start} {_dtype_text(view.buffer.dtype)}[{shape}]"


def _dtype_text(dtype: DType) -> str:
    return dtype.value


def _buffer_lines(program: Program) -> tuple[BufferLine, ...]:
    spans = lifetimes(program.kernels)
    placed: Sequence[tuple[Buffer, int]] = sorted(
        program.scratch_offsets.items(), key=lambda item: (item[1], spans[item[0]])
    )
    return tuple(
        BufferLine(
            buffer.name,
            _dtype_text(buffer.dtype),
            buffer.row_elements,
            offset,
            buffer_bytes(buffer, program.rows_per_swath),
            *spans[buffer],
        )
        for buffer, offset in placed
    )


_CALL = re.compile(r"^  (\w+)\(.*\);$")


def _called_functions(source: str, kernels: int) -> list[str]:
    """The function that each kernel calls, in order; empty where the source says it otherwise."""
    _, _, body = source.partition("static void run_rows(")
    body, _, _ = body.partition("\n}")
    calls = [found[1] for line in body.splitlines() if (found := _CALL.match(line))]
    return calls if len(calls) == kernels else [""] * kernels


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
