"""A program as one C++ file: headers, one function per kernel structure, the swath loop."""

from __future__ import annotations

from swath.graph.types import DType
from swath.targets.cpu.functions import Function, Operand
from swath.targets.cpu.text import C_TYPES, Lines
from swath.targets.cpu.write_loops import write_pointwise, write_reduction
from swath.targets.cpu.write_other import (
    write_bag,
    write_lookup,
    write_order,
    write_rearrange,
    write_scatter,
)
from swath.targets.cpu.write_product import write_product
from swath.tile.kernels import (
    Bag,
    Kernel,
    Lookup,
    Order,
    Pointwise,
    Product,
    Program,
    Rearrange,
    Reduction,
)
from swath.tile.views import Buffer, BufferKind

HEADERS = ("gemm.h", "pack.h", "tables.h", "order.h", "scalar.h")


def write_kernel(kernel: Kernel) -> Function:
    """The function that does a kernel."""
    if isinstance(kernel, Pointwise):
        return write_pointwise(kernel)
    if isinstance(kernel, Reduction):
        return write_reduction(kernel)
    if isinstance(kernel, Product):
        return write_product(kernel)
    if isinstance(kernel, Lookup):
        return write_lookup(kernel)
    if isinstance(kernel, Bag):
        return write_bag(kernel)
    if isinstance(kernel, Rearrange):
        return write_rearrange(kernel)
    if isinstance(kernel, Order):
        return write_order(kernel, kernel.source.shape[kernel.axis])
    return write_scatter(kernel)


def write_program(program: Program, name: str) -> str:
    """The whole source file."""
    definitions = Lines()
    calls = Lines(depth=1)
    known: dict[tuple[str, str, str], str] = {}
    counts: dict[str, int] = {}
    for kernel in program.kernels:
        function = write_kernel(kernel)
        key = (function.parameters(), function.body, function.statics)
        if key not in known:
            counts[function.kind] = counts.get(function.kind, 0) + 1
            known[key] = f"{function.kind}_{counts[function.kind]}"
            _define(definitions, function, known[key])
        calls.add(f"// {function.comment}")
        calls.add(f"{known[key]}({_arguments(function, program)});")
    includes = "\n".join(f'#include "{header}"' for header in HEADERS)
    return "\n".join([
        f"// {name}: written by swath. {len(program.kernels)} kernels, {len(known)} structures,",
        f"// {program.rows_per_swath} rows a swath, {program.scratch_bytes} bytes of scratch.",
        includes,
        "",
        "using namespace swath;",
        "",
        _HELPERS,
        definitions.text(),
        "// One swath: `rows` rows from `row` on, through every kernel.",
        "static void run_rows(const swath_call* call, char* scratch, long row, long rows) {",
        calls.text(),
        "}",
        "",
        _entry_points(program),
    ])  # fmt: skip


_HELPERS = """\
template <class T>
SWATH_INLINE const T* input(const swath_call* call, long index, long row) {
  const char* start = static_cast<const char*>(call->inputs[index]);
  return reinterpret_cast<const T*>(start + row * call->input_row_bytes[index]);
}
template <class T>
SWATH_INLINE T* output(const swath_call* call, long index) {
  return static_cast<T*>(call->outputs[index]);
}
template <class T>
SWATH_INLINE const T* weights(const swath_call* call, long offset) {
  return reinterpret_cast<const T*>(static_cast<const char*>(call->weights) + offset);
}
"""


def _define(lines: Lines, function: Function, name: str) -> None:
    if function.statics:
        lines.add(function.statics.replace("NAME", name))
    lines.add(f"// {function.comment}")
    lines.add(f"static void {name}({function.parameters()}) {{")
    for line in function.body.replace("NAME", name).splitlines():
        lines.add(f"  {line}")
    lines.add("}")
    lines.add("")


def _arguments(function: Function, program: Program) -> str:
    arguments = ["call", "row"] if function.faults else []
    arguments.append("rows")
    for operand in function.operands:
        arguments.append(_pointer(operand, program))
        if operand.dynamic_rows:
            size = operand.view.buffer.dtype.size
            arguments.append(f"call->input_row_bytes[{operand.view.buffer.index}] / {size}")
    return ", ".join(arguments)


def _pointer(operand: Operand, program: Program) -> str:
    buffer = operand.view.buffer
    start = _base(buffer, program)
    return f"{start} + {operand.view.offset}" if operand.view.offset else start


def _base(buffer: Buffer, program: Program) -> str:
    ctype = "unsigned char" if buffer.dtype is DType.BOOL else C_TYPES[buffer.dtype]
    if buffer.kind is BufferKind.INPUT:
        return f"input<{ctype}>(call, {buffer.index}, row)"
    if buffer.kind is BufferKind.OUTPUT:
        return f"output<{ctype}>(call, {buffer.index}) + row * {buffer.row_elements}"
    if buffer.kind is BufferKind.WEIGHT:
        return f"weights<{ctype}>(call, {program.weight_offsets[buffer]})"
    offset = program.scratch_offsets[buffer]
    return f"reinterpret_cast<{ctype}*>(scratch + {offset})"


def _entry_points(program: Program) -> str:
    return f"""\
constexpr long ROWS_PER_SWATH = {program.rows_per_swath};

extern "C" swath_int32 swath_abi_version(void) {{ return SWATH_ABI_VERSION; }}
extern "C" swath_int64 swath_scratch_bytes(void) {{ return {program.scratch_bytes}; }}

extern "C" swath_int32 swath_run(const swath_call* call) {{
  char* scratch = static_cast<char*>(call->scratch);
  for (long row = call->row_begin; row < call->row_end; row += ROWS_PER_SWATH) {{
    const long left = call->row_end - row;
    run_rows(call, scratch, row, left < ROWS_PER_SWATH ? left : ROWS_PER_SWATH);
  }}
  return call->fault->kind != 0;
}}
"""
