"""Lookups in two steps: addresses of table rows one swath ahead, then the copies."""

from __future__ import annotations

from contextlib import ExitStack

from swath.targets.cpu.expression_text import ScalarText
from swath.targets.cpu.functions import Function, Operands
from swath.targets.cpu.text import Lines
from swath.targets.cpu.write_loops import element, open_loops
from swath.targets.cpu.write_other import as_floats, entries_text, floats_of_row, unfolded
from swath.tile.expressions import views_of
from swath.tile.kernels import Lookup
from swath.tile.views import View


def write_addresses(lookup: Lookup) -> Function:
    """`from` becomes the addresses of the rows, in the order in which they are copied."""
    shape = lookup.destination.shape[:-1]
    operands = Operands()
    for view in views_of(lookup.ids):
        operands.read(view)
    nest = unfolded(shape, operands)
    writer = ScalarText(lambda view, extra: element(nest, operands.find(view), extra), "r")
    table = nest.variable(nest.axes[-1]) if shape[-1] > 1 else "0"
    lines = Lines()
    with ExitStack() as stack:
        open_loops(lines, stack, nest, list(nest.axes))
        ids = f"scalar::convert<long>({writer.write(lookup.ids)})"
        width = floats_of_row(lookup)
        lines.add(
            f"*from++ = table_row<{width}>(call, NAME_entries[{table}], {ids}, first_row + r);"
        )
    return Function(
        "addresses",
        tuple(operands.items),
        lines.text(),
        lookup.comment,
        True,
        entries_text(lookup.entries),
        "const float** from",
    )


def write_copies(lookup: Lookup) -> Function:
    """The rows at `from` become the destination."""
    shape = lookup.destination.shape[:-1]
    target = lookup.destination
    operands = Operands()
    operand = operands.write(View(target.buffer, target.offset, shape, target.strides[:-1]))
    nest = unfolded(shape, operands)
    lines = Lines()
    with ExitStack() as stack:
        open_loops(lines, stack, nest, list(nest.axes))
        to = as_floats(f"{operand.name} + {nest.index(operand)}", target)
        lines.add(f"copy_row<{floats_of_row(lookup)}>({to}, *from++);")
    return Function(
        "copies",
        tuple(operands.items),
        lines.text(),
        lookup.comment,
        extra="const float* const* from",
    )
