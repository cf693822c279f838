"""Makes the report of a compilation that an artefact keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod

import msgspec

from swath.graph.types import DType
from swath.passes.pipeline import PassReport
from swath.report.compile_report import BufferLine, CompileReport, KernelLine, PassLine
from swath.stages.schedule import kernel_work
from swath.stages.scratch import buffer_bytes, lifetimes
from swath.tile.expressions import views_of
from swath.tile.kernels import Bag, Kernel, Lookup, Order, Program, expressions_of
from swath.tile.views import Buffer, BufferKind, View

LINE_BYTES = 64


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
        _bag_bytes(kernel),
        _tables_size(kernel),
        float(weights),
        float(sum(map(_bytes, [*moved, *written]))),
    )


def _bag_bytes(kernel: Kernel) -> float:
    if not isinstance(kernel, Bag):
        return 0.0
    size = kernel.destination.shape[-1] * kernel.entry.table.dtype.size
    return float(-(-size // LINE_BYTES) * LINE_BYTES)


def _tables_size(kernel: Kernel) -> int:
    if isinstance(kernel, Bag):
        entries = (kernel.entry,)
    elif isinstance(kernel, Lookup):
        entries = kernel.entries
    else:
        return 0
    width = kernel.destination.shape[-1]
    return sum(entry.rows * width * entry.table.dtype.size for entry in entries)


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
