"""A program as one C++ file: headers, one function per kernel structure, the swath loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from swath.graph.types import DType
from swath.stages.ahead import ahead_lookups, pointers_per_row
from swath.targets.cpu.functions import Function, Operand
from swath.targets.cpu.text import C_TYPES, Lines
from swath.targets.cpu.write_ahead import write_addresses, write_copies
from swath.targets.cpu.write_empty import write_without_rows
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


@dataclass(slots=True)
class Definitions:
    """The functions so far; kernels of one structure share one."""

    lines: Lines = field(default_factory=Lines)
    _names: dict[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    _counts: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self._names)

    def name(self, function: Function) -> str:
        """The name of a function, which is defined if it is new."""
        key = (function.parameters(), function.body, function.statics)
        if key not in self._names:
            self._counts[function.kind] = self._counts.get(function.kind, 0) + 1
            self._names[key] = f"{function.kind}_{self._counts[function.kind]}"
            _define(self.lines, function, self._names[key])
        return self._names[key]


def write_program(program: Program, name: str) -> str:
    """The whole source file."""
    definitions = Definitions()
    ahead = ahead_lookups(program.kernels)
    addresses, kernels = Lines(depth=1), Lines(depth=1)
    starts: dict[int, str] = {}
    before = 0
    for lookup in ahead:
        starts[id(lookup)] = f"from + rows * {before}" if before else "from"
        before += pointers_per_row(lookup)
        function = write_addresses(lookup)
        call = _arguments(function, program, starts[id(lookup)])
        addresses.add(f"{definitions.name(function)}({call});")
    for kernel in program.kernels:
        start = starts.get(id(kernel))
        if isinstance(kernel, Lookup) and start is not None:
            function, extra = write_copies(kernel), start
        else:
            function, extra = write_kernel(kernel), "fetch"
        kernels.add(f"// {function.comment}")
        kernels.add(f"{definitions.name(function)}({_arguments(function, program, extra)});")
    includes = "\n".join(f'#include "{header}"' for header in HEADERS)
    return "\n".join([
        f"// {name}, by swath: {len(program.kernels)} kernels, {len(definitions)} functions,",
        f"// {program.rows_per_swath} rows a swath, {program.scratch_bytes} bytes of scratch.",
        includes,
        "",
        "using namespace swath;",
        "",
        _HELPERS,
        definitions.lines.text(),
        "// The addresses of the table rows that rows from `row` on read.",
        "static void find_rows(const swath_call* call, long row, long rows, const float** from) {",
        addresses.text() or "  (void)call, (void)row, (void)rows, (void)from;",
        "}",
        "",
        "// One swath: `rows` rows from `row` on, through every kernel.",
        "static void run_rows(const swath_call* call, char* scratch, long row, long rows,",
        "                     const float* const* from, Fetch* fetch) {",
        kernels.text(),
        "}",
        "",
        write_without_rows(program),
        _entry_points(program, before),
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


def _arguments(function: Function, program: Program, extra: str) -> str:
    arguments = ["call", "row"] if function.faults else []
    arguments.append("rows")
    for operand in function.operands:
        arguments.append(_pointer(operand, program))
        if operand.dynamic_rows:
            size = operand.view.buffer.dtype.size
            arguments.append(f"call->input_row_bytes[{operand.view.buffer.index}] / {size}")
    if function.extra:
        arguments.append(extra)
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


def _entry_points(program: Program, addresses: int) -> str:
    return f"""\
constexpr long ROWS_PER_SWATH = {program.rows_per_swath};
constexpr long ADDRESSES = {addresses};  // of table rows, for one row

extern "C" swath_int32 swath_abi_version(void) {{ return SWATH_ABI_VERSION; }}
extern "C" swath_int64 swath_scratch_bytes(void) {{ return {program.scratch_bytes}; }}

static long swath_size(const swath_call* call, long row) {{
  const long left = call->row_end - row;
  return left < ROWS_PER_SWATH ? left : ROWS_PER_SWATH;
}}

extern "C" swath_int32 swath_run(const swath_call* call) {{
  char* scratch = static_cast<char*>(call->scratch);
  const float** now = reinterpret_cast<const float**>(scratch + {program.addresses});
  const float** next = now + ROWS_PER_SWATH * ADDRESSES;
  long row = call->row_begin, rows = swath_size(call, row);
  if (rows <= 0) {{
    if (call->rows == 0) run_without_rows(call, scratch, now);
    return call->fault->kind != 0;
  }}
  find_rows(call, row, rows, now);
  for (long i = 0; i < rows * ADDRESSES; ++i) __builtin_prefetch(now[i]);
  while (rows > 0) {{
    const long next_rows = swath_size(call, row + rows);
    if (next_rows > 0) find_rows(call, row + rows, next_rows, next);
    Fetch fetch = {{next, next + (next_rows > 0 ? next_rows * ADDRESSES : 0)}};
    run_rows(call, scratch, row, rows, now, &fetch);
    row += rows;
    rows = next_rows;
    const float** swap = now;
    now = next;
    next = swap;
  }}
  return call->fault->kind != 0;
}}
"""
