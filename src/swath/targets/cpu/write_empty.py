"""Calls without rows: outputs that don't depend on rows have their values all the same."""

from __future__ import annotations

from swath.targets.cpu.text import Lines
from swath.tile.kernels import Program, reads_of, writes_of
from swath.tile.views import Buffer, BufferKind


def write_without_rows(program: Program) -> str:
    """The function for a call without rows; it does nothing if every output has rows."""
    used = [b for kernel in program.kernels for b in (*reads_of(kernel), *writes_of(kernel))]
    buffers = list(dict.fromkeys(used))
    inputs = [buffer for buffer in buffers if buffer.kind is BufferKind.INPUT]
    outputs = [buffer for buffer in buffers if buffer.kind is BufferKind.OUTPUT]
    head = "static void run_without_rows(const swath_call* call, char* scratch, const float** from)"
    lines = Lines()
    lines.add("// Outputs that have no rows come from one row of zeros.")
    with lines.block(f"{head} {{"):
        if all(output.row_elements or not output.elements for output in outputs):
            lines.add("(void)call, (void)scratch, (void)from;")
        else:
            _one_row_of_zeros(lines, inputs, outputs)
    lines.add("")
    return lines.text()


def _one_row_of_zeros(lines: Lines, inputs: list[Buffer], outputs: list[Buffer]) -> None:
    with_rows = [buffer for buffer in inputs if buffer.row_elements < 0]
    zeros = max((_bytes(buffer) for buffer in with_rows), default=64)
    spare = sum(_bytes(buffer) for buffer in outputs if buffer.row_elements)
    lines.add(f"alignas(64) static const char zeros[{zeros}] = {{}};")
    lines.add(f"alignas(64) char spare[{max(64, spare)}];")
    lines.add("swath_call one = *call;")
    if with_rows:
        _copied(lines, "const void*", "inputs", inputs)
        for buffer in with_rows:
            lines.add(f"inputs[{buffer.index}] = zeros;")
    _copied(lines, "void*", "outputs", outputs)
    offset = 0
    for buffer in outputs:
        if buffer.row_elements:
            lines.add(f"outputs[{buffer.index}] = spare + {offset};")
            offset += _bytes(buffer)
    lines.add("Fetch fetch = {from, from};")
    lines.add("find_rows(&one, 0, 1, from);")
    lines.add("run_rows(&one, scratch, 0, 1, from, &fetch);")


def _copied(lines: Lines, ctype: str, name: str, buffers: list[Buffer]) -> None:
    count = 1 + max(buffer.index for buffer in buffers)
    lines.add(f"{ctype} {name}[{count}];")
    lines.add(f"for (long i = 0; i < {count}; ++i) {name}[i] = call->{name}[i];")
    lines.add(f"one.{name} = {name};")


def _bytes(buffer: Buffer) -> int:
    """Bytes of one row, with what may be read behind it."""
    return -(-buffer.elements * buffer.dtype.size // 64) * 64 + 64
