"""What `swath inspect` shows of an artefact: its interface, and what the compiler did."""

from __future__ import annotations

from pathlib import Path

import msgspec

from swath.artifact.manifest import Manifest
from swath.artifact.reader import read_artifact
from swath.errors import Problem, SwathError, Where
from swath.report.compile_report import (
    CompileReport,
    KernelLine,
    function_source,
)
from swath.report.roofline import Roofline
from swath.report.table import columns, count_text, seconds_text, shortened, size_text

REPORT, GRAPH, SOURCE = "report.json", "graph.txt", "source/program.cpp"


class Port(msgspec.Struct, frozen=True):
    """An input or output; `row_shape` is the shape of one row, the batch axis kept."""

    name: str
    dtype: str
    row_shape: tuple[int, ...]
    kind: str


class Inspection(msgspec.Struct, frozen=True):
    """An artefact. `bytes` is the size of all its files; sections that weren't asked for are null.

    report: passes, kernels and scratch plan; kernel_source: the function of `--kernel`.
    """

    name: str
    swath_version: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tables: int
    table_bytes: int
    weight_bytes: int
    bytes: int
    libraries: dict[str, int]
    options: dict[str, object]
    report: CompileReport | None = None
    graph: str | None = None
    source: str | None = None
    kernel_source: str | None = None
    roofline: Roofline | None = None


def read_report(path: Path) -> CompileReport:
    """The report of an artefact's compilation. Raises SwathError SW410 where there is none."""
    file = path / REPORT
    try:
        return msgspec.json.decode(file.read_bytes(), type=CompileReport)
    except (OSError, msgspec.MsgspecError) as error:
        raise SwathError(
            Problem(
                "SW410",
                "the artefact holds no report of its compilation",
                f"{REPORT} can't be read: {error}",
                "compile the model again",
                Where(str(path)),
            )
        ) from error


def inspection(path: Path, manifest: Manifest | None = None) -> Inspection:
    """The interface and sizes of an artefact. Raises InvalidArtifact."""
    manifest = manifest or read_artifact(path)
    sizes = {file.path: file.size for file in manifest.files}
    return Inspection(
        manifest.name,
        manifest.swath_version,
        tuple(Port(i.name, i.dtype, i.row_shape, i.kind) for i in manifest.inputs),
        tuple(
            Port(o.name, o.dtype, o.row_shape, "once" if o.batch_axis is None else "rows")
            for o in manifest.outputs
        ),
        len(manifest.tables),
        sum(sizes[table.file] for table in manifest.tables),
        manifest.weights.size,
        sum(sizes.values()),
        {library.isa: sizes[library.file] for library in manifest.libraries},
        dict(manifest.options),
    )


def read_text(path: Path, file: str) -> str:
    """A text file of an artefact; empty if it has none."""
    target = path / file
    return target.read_text() if target.is_file() else ""


def find_kernel(report: CompileReport, wanted: str) -> KernelLine:
    """The kernel of that number or function. Raises SwathError SW411."""
    for kernel in report.kernels:
        if wanted in (str(kernel.number), kernel.function):
            return kernel
    raise SwathError(
        Problem(
            "SW411",
            f"there is no kernel {wanted!r}",
            f"kernels are numbered 0 to {len(report.kernels) - 1}",
            "choose one that --kernels lists",
        )
    )


def summary_text(found: Inspection) -> str:
    """Interface, sizes and libraries."""
    lines = [f"{found.name}, compiled by swath {found.swath_version}", ""]
    ports = [("input", port) for port in found.inputs]
    ports += [("output", port) for port in found.outputs]
    lines += columns(
        [[word, port.name, port.dtype, shape_text(port), _kind(port)] for word, port in ports],
        left=(0, 1, 2, 3, 4),
    )
    libraries = ", ".join(f"{isa} {size_text(size)}" for isa, size in found.libraries.items())
    lines += [
        "",
        f"size       {size_text(found.bytes)}",
        f"tables     {found.tables}, {size_text(found.table_bytes)}",
        f"weights    {size_text(found.weight_bytes)}",
        f"libraries  {libraries}",
    ]
    if found.report is not None:
        lines.append(
            f"scratch    {size_text(found.report.scratch_bytes)} a thread at its peak, "
            f"{found.report.rows_per_swath} rows a swath"
        )
    return "\n".join(lines)


def shape_text(port: Port) -> str:
    """`[B,16]` for rows; the batch axis is shown where its length is 1."""
    shape = list(map(str, port.row_shape))
    if port.kind == "rows" and shape and shape[0] == "1":
        shape[0] = "B"
    elif port.kind == "ragged":
        shape = ["values"]
    elif port.kind == "offsets":
        shape = ["bags"]
    return f"[{','.join(shape)}]"


def _kind(port: Port) -> str:
    return "" if port.kind == "rows" else port.kind


def passes_text(report: CompileReport) -> str:
    """Passes in order with counts and times, then the seconds of each step of the compiler."""
    rows = [["pass", "nodes", "constants", "time"]]
    for line in report.passes:
        rows.append(
            [
                line.name,
                _change(line.nodes_before, line.nodes_after),
                _change(line.constants_before, line.constants_after),
                seconds_text(line.seconds),
            ]
        )
    steps = ", ".join(f"{step} {seconds_text(taken)}" for step, taken in report.seconds.items())
    return "\n".join([*columns(rows), *([f"steps: {steps}"] if steps else [])])


def _change(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"


def kernels_text(report: CompileReport) -> str:
    """A line per kernel: function, what it does at least, where it comes from."""
    rows = [["", "function", "flops/row", "table B/row", "weights", "moved B/row", "", "makes"]]
    for kernel in report.kernels:
        rows.append(
            [
                str(kernel.number),
                kernel.function or kernel.kind,
                count_text(kernel.flops),
                f"{kernel.table_bytes:.0f}"
                if not kernel.bag_bytes
                else f"{kernel.bag_bytes:.0f}/id",
                size_text(kernel.weight_bytes),
                f"{kernel.moved_bytes:.0f}",
                "",
                shortened(kernel.origin, 100),
            ]
        )
    flops = sum(kernel.flops for kernel in report.kernels)
    table = sum(kernel.table_bytes for kernel in report.kernels)
    weights = sum(kernel.weight_bytes for kernel in report.kernels)
    moved = sum(kernel.moved_bytes for kernel in report.kernels)
    rows.append(
        ["", "together", count_text(flops), f"{table:.0f}", size_text(weights), f"{moved:.0f}",
         "", ""]
    )  # fmt: skip
    return "\n".join(columns(rows, left=(1, 7)))


def kernel_text(kernel: KernelLine, source: str) -> str:
    """One kernel with its source."""
    lines = [
        f"kernel {kernel.number}: {kernel.function or kernel.kind}",
        f"makes    {kernel.origin}",
        f"into     {kernel.destination}",
        f"does     {count_text(kernel.flops)} flops a row; reads "
        f"{size_text(kernel.weight_bytes)} of weights a swath, {kernel.table_bytes:.0f} bytes of "
        f"table rows a row; moves {kernel.moved_bytes:.0f} bytes a row",
        "",
        function_source(source, kernel.function) or "(no function of its own)",
    ]
    return "\n".join(lines)


def memory_text(report: CompileReport) -> str:
    """The scratch plan: buffers by offset, their bytes and the kernels between which they live."""
    rows = [["buffer", "dtype", "elements/row", "offset", "bytes", "kernels"]]
    for line in report.buffers:
        rows.append(
            [
                line.name,
                line.dtype,
                str(line.row_elements),
                str(line.offset),
                str(line.bytes),
                f"{line.first}-{line.last}",
            ]
        )
    together = sum(line.bytes for line in report.buffers)
    end = max((line.offset + line.bytes for line in report.buffers), default=0)
    if report.scratch_bytes > end:
        # What isn't a buffer are the addresses of table rows that are fetched for the next swath.
        rows.append(["addresses", "", "", str(end), str(report.scratch_bytes - end), "all"])
    return "\n".join(
        [
            *columns(rows, left=(0, 1)),
            f"peak scratch {report.scratch_bytes} bytes a thread, for {report.rows_per_swath} rows "
            f"at once; without sharing it would be {together}",
        ]
    )


def roofline_text(report: CompileReport, found: Roofline) -> str:
    """Every kernel's limit, the whole against what was measured."""
    rows = [["", "function", "measured us", "limit us", "of limit", "bound by", "", "makes"]]
    for limit, kernel in zip(found.kernels, report.kernels, strict=True):
        measured = limit.measured or 0.0
        rows.append(
            [
                str(kernel.number),
                kernel.function or kernel.kind,
                "" if limit.measured is None else f"{measured:.3g}",
                f"{limit.limit:.3g}",
                f"{limit.limit / measured:.0%}" if measured else "",
                limit.bound,
                "",
                shortened(kernel.origin, 80),
            ]
        )
    machine = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in found.machine.items()
        if name != "processor"
    )
    return "\n".join(
        [
            f"{found.machine['processor']}, one core: {machine}",
            *columns(rows, left=(1, 5, 7)),
            f"batch {found.batch}, one thread: limit {found.limit:.1f} us, measured "
            f"{found.measured:.1f} us ({found.share:.0%} of what is possible kernel by kernel), "
            f"{found.gflops:.1f} GFLOP/s",
            *([_BUSY] if found.share > 1 else []),
        ]
    )


_BUSY = "above 100%: the machine was busy while its limits were measured; run it again"
