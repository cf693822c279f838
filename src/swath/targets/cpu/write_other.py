"""Lookups, bags, copies by position, orders and scattered stores."""

from __future__ import annotations

from contextlib import ExitStack

from swath.graph.types import DType
from swath.targets.cpu.expression_text import ScalarText
from swath.targets.cpu.functions import Function, Operands, loop
from swath.targets.cpu.loops import Axis, lane_cost
from swath.targets.cpu.text import C_TYPES, Lines
from swath.targets.cpu.write_loops import Nest, element, make_nest, open_loops
from swath.tile.expressions import views_of
from swath.tile.kernels import Bag, Lookup, LookupEntry, Order, Rearrange, ScatterStore
from swath.tile.views import View, whole

POLICIES = {"error": "ID_ERROR", "default_row": "ID_DEFAULT_ROW", "modulo": "ID_MODULO"}
AT_ONCE = 64  # rows of tables asked for before the first is copied


def entry_text(entry: LookupEntry) -> str:
    """One entry as an initialiser."""
    return (
        f"{{{entry.table.index}, {POLICIES[entry.policy]}, {entry.rows}, "
        f"{entry.default_row}, {entry.number}}}"
    )


def entries_text(entries: tuple[LookupEntry, ...]) -> str:
    """The entries of a lookup as static data."""
    rows = ",\n".join(f"  {entry_text(entry)}" for entry in entries)
    return f"static const Entry NAME_entries[{len(entries)}] = {{\n{rows},\n}};"


def write_lookup(kernel: Lookup) -> Function:
    """Ids of up to 64 tables first, with a prefetch each, then the copies."""
    width = floats_of_row(kernel)
    shape = kernel.destination.shape[:-1]
    operands = Operands()
    operands.write(
        View(
            kernel.destination.buffer,
            kernel.destination.offset,
            shape,
            kernel.destination.strides[:-1],
        )
    )
    for view in views_of(kernel.ids):
        operands.read(view)
    items = tuple(operands.items)
    tables = shape[-1]
    nest = unfolded(shape, operands)
    writer = ScalarText(lambda view, extra: element(nest, operands.find(view), extra), "r")
    last = nest.axes[-1] if tables > 1 else None
    table = nest.variable(last) if last is not None else "0"
    target = items[0]
    lines = Lines()
    with ExitStack() as stack:
        open_loops(lines, stack, nest, [axis for axis in nest.axes if axis is not last])
        ids = f"scalar::convert<long>({writer.write(kernel.ids)})"
        fetch = f"table_row<{width}>(call, NAME_entries[{table}], {ids}, first_row + r)"
        to = as_floats(f"{target.name} + {nest.index(target)}", kernel.destination)
        if last is None:
            lines.add(f"copy_row<{width}>({to}, {fetch});")
        else:
            lines.add(f"const float* from[{min(AT_ONCE, tables)}];")
            begin, end = _chunk(lines, stack, tables)
            with lines.block(f"for (long {table} = {begin}; {table} < {end}; ++{table}) {{"):
                slot = f"from[{table} - {begin}]" if begin != "0" else f"from[{table}]"
                lines.add(f"{slot} = {fetch};")
                lines.add(f"prefetch_row<{width}>({slot});")
            with lines.block(f"for (long {table} = {begin}; {table} < {end}; ++{table}) {{"):
                lines.add(f"copy_row<{width}>({to}, {slot});")
    return Function(
        "lookup", items, lines.text(), kernel.comment, True, entries_text(kernel.entries)
    )


def floats_of_row(kernel: Lookup) -> int:
    """How many floats the bytes of a table row fill: rows of other types are copied as floats."""
    size = kernel.destination.buffer.dtype.size
    assert size % DType.FLOAT32.size == 0, "the frontend indexes tables of narrow types"
    return kernel.destination.shape[-1] * size // DType.FLOAT32.size


def as_floats(pointer: str, view: View) -> str:
    """A pointer to elements of a view, as one to floats."""
    if view.buffer.dtype is DType.FLOAT32:
        return pointer
    return f"reinterpret_cast<float*>({pointer})"


def _chunk(lines: Lines, stack: ExitStack, tables: int) -> tuple[str, str]:
    if tables <= AT_ONCE:
        return "0", str(tables)
    stack.enter_context(
        lines.block(f"for (long begin = 0; begin < {tables}; begin += {AT_ONCE}) {{")
    )
    lines.add(f"const long end = begin + {AT_ONCE} < {tables} ? begin + {AT_ONCE} : {tables};")
    return "begin", "end"


def unfolded(shape: tuple[int, ...], operands: Operands) -> Nest:
    """Rows, then every axis in the order of the shape; the last one is never folded."""
    items = tuple(operands.items)
    views = [operand.view for operand in items]
    strides = tuple(
        o.row_parameter if o.dynamic_rows else o.view.buffer.row_elements for o in items
    )
    axes = [Axis(1, strides, rows=True)]
    for index, size in enumerate(shape):
        if size != 1:
            axes.append(Axis(size, tuple(view.strides[index] for view in views)))
    return Nest(tuple(axes), items)


def write_bag(kernel: Bag) -> Function:
    """One bag per row; offsets are checked before they are used."""
    width = kernel.destination.shape[-1]
    operands = Operands()
    target = operands.write(kernel.destination)
    ids = operands.read(whole(kernel.ids, (1,)))
    # offsets are read at the row and at the next one, so the whole input is handed over
    offsets = operands.read(whole(kernel.offsets, (1,)))
    weights = operands.read(whole(kernel.weights, (1,))) if kernel.weights is not None else None
    count = f"call->input_extents[{kernel.ids.index}]"
    listed = f"call->input_extents[{kernel.offsets.index}]"
    lines = Lines()
    with lines.block(loop("r", "rows")):
        row = "first_row + r"
        lines.add(f"const long count = {count};")
        lines.add(f"const long begin = {offsets.name}[r];")
        lines.add(f"const long end = {row} + 1 < {listed} ? {offsets.name}[r + 1] : count;")
        with lines.block("if (begin < 0 || end < begin || end > count) {"):
            lines.add(f"record_fault(call, SWATH_FAULT_OFFSETS, NAME_entry.number, {row}, begin);")
            lines.add(
                f"fill_row<{width}>({target.name} + r * {target.view.buffer.row_elements}, 0);"
            )
            lines.add("continue;")
        pooling = f"POOL_{kernel.mode.upper()}"
        lines.add(
            f"bag<{width}, {pooling}>(call, NAME_entry, {ids.name}, "
            f"{weights.name if weights else 'nullptr'}, begin, end, {kernel.padding_id}, "
            f"{row}, {target.name} + r * {target.view.buffer.row_elements});"
        )
    statics = f"static const Entry NAME_entry = {entry_text(kernel.entry)};"
    return Function("bag", tuple(operands.items), lines.text(), kernel.comment, True, statics)


def write_rearrange(kernel: Rearrange) -> Function:
    """Positions in a table; what lies behind the axis is copied in one go."""
    shape, axis = kernel.destination.shape, kernel.axis
    stride = kernel.source.strides[axis]
    operands = Operands()
    target = operands.write(kernel.destination)
    strides = (*kernel.source.strides[:axis], 0, *kernel.source.strides[axis + 1 :])
    base = View(kernel.source.buffer, kernel.source.offset, shape, strides)
    source = operands.read(base)
    nest = unfolded(shape, operands)
    along = next((a for i, a in _sized(nest, shape) if i == axis), None)
    inner = nest.axes[-1]
    floats = kernel.destination.buffer.dtype is DType.FLOAT32
    lanes = floats and inner is not along and not inner.rows and _adjacent(inner)
    position = f"NAME_positions[{nest.variable(along) if along is not None else 0}]"
    lines = Lines()
    with ExitStack() as stack:
        open_loops(lines, stack, nest, [a for a in nest.axes if not lanes or a is not inner])
        skip = inner if lanes else None
        to = f"{target.name} + {nest.index(target, skip)}"
        extra = nest.index(source, skip)
        from_ = f"{source.name} + {extra} + {position}"
        if lanes:
            lines.add(f"copy_row<{inner.extent}>({to}, {from_});")
        else:
            lines.add(f"*({to}) = *({from_});")
    values = ", ".join(str(i * stride) for i in kernel.indices)
    statics = f"static const int NAME_positions[{len(kernel.indices)}] = {{{values}}};"
    return Function(
        "rearrange", tuple(operands.items), lines.text(), kernel.comment, statics=statics
    )


def _sized(nest: Nest, shape: tuple[int, ...]) -> list[tuple[int, Axis]]:
    """The axes of an unfolded nest by their position in the shape."""
    sized = [index for index, size in enumerate(shape) if size != 1]
    return list(zip(sized, nest.axes[1:], strict=True))


def _adjacent(axis: Axis) -> bool:
    return all(stride == 1 for stride in axis.strides)


def write_order(kernel: Order, spare: int) -> Function:
    """One order per line along the axis; `spare` positions are kept on the stack."""
    axis, size = kernel.axis, kernel.source.shape[kernel.axis]
    outer = tuple(1 if i == axis else n for i, n in enumerate(kernel.source.shape))
    operands = Operands()
    views = {"c": kernel.values, "d": kernel.indices}
    for name, view in views.items():
        if view is not None:
            operands.write(_line_starts(view, outer), name)
    source = operands.read(_line_starts(kernel.source, outer))
    nest = make_nest(outer, operands)
    ctype = C_TYPES[kernel.source.buffer.dtype]
    step = kernel.source.strides[axis]
    lines = Lines()
    lane = _order_lane(kernel, nest)
    if lane is not None:
        _values_on_lanes(lines, kernel, nest, lane)
        return Function("order", tuple(operands.items), lines.text(), kernel.comment)
    with ExitStack() as stack:
        open_loops(lines, stack, nest, list(nest.axes))
        lines.add(f"const {ctype}* x = {source.name} + {nest.index(source)};")
        if kernel.function in ("cumsum", "cumprod"):
            _running(lines, kernel, nest, size, step, ctype)
        elif kernel.function in ("argmax", "argmin"):
            target = next(o for o in operands.items if o.name == "d")
            largest = "true" if kernel.function == "argmax" else "false"
            lines.add(f"d[{nest.index(target)}] = extreme(x, {step}, {size}, {largest});")
        else:
            _positions(lines, kernel, nest, operands, size, step, spare)
    return Function("order", tuple(operands.items), lines.text(), kernel.comment)


MOST_ON_LANES = 64  # sorted registers that one line of lanes keeps


def _order_lane(kernel: Order, nest: Nest) -> Axis | None:
    """The axis whose lines lie side by side, if only values are asked for."""
    if kernel.function not in ("sort", "topk") or kernel.indices is not None:
        return None
    if kernel.source.buffer.dtype is not DType.FLOAT32 or kernel.count > MOST_ON_LANES:
        return None
    lane = min(nest.axes, key=lane_cost)
    return lane if _adjacent(lane) else None


def _values_on_lanes(lines: Lines, kernel: Order, nest: Nest, lane: Axis) -> None:
    target, source = nest.operands
    assert kernel.values is not None
    size, step = kernel.source.shape[kernel.axis], kernel.source.strides[kernel.axis]
    descending = "true" if kernel.descending else "false"
    with ExitStack() as stack:
        open_loops(lines, stack, nest, [axis for axis in nest.axes if axis is not lane])
        with lines.block(f"lanes({lane.bound}, SWATH_BODY {{", "});"):
            lines.add(f"f32v best[{kernel.count}];")
            lines.add(
                f"first_values<{kernel.count}>({source.name} + {nest.index(source, lane)}"
                f" + i, {step}, {size}, {descending}, n, best);"
            )
            stride = kernel.values.strides[kernel.axis]
            with lines.block(loop("k", str(kernel.count))):
                lines.add(
                    f"store({target.name} + {nest.index(target, lane)} + i + k * {stride}, "
                    "best[k], n);"
                )


def _line_starts(view: View, outer: tuple[int, ...]) -> View:
    """The first element of each line along the axis."""
    return View(view.buffer, view.offset, outer, view.strides)


def _running(lines: Lines, kernel: Order, nest: Nest, size: int, step: int, ctype: str) -> None:
    assert kernel.values is not None
    target = next(o for o in nest.operands if o.name == "c")
    result = C_TYPES[kernel.values.buffer.dtype]
    start, sign = ("0", "+") if kernel.function == "cumsum" else ("1", "*")
    lines.add(f"{result} total = {start};")
    with lines.block(loop("k", str(size))):
        lines.add(f"total = total {sign} scalar::convert<{result}>({ctype}(x[k * {step}]));")
        lines.add(f"c[{nest.index(target)} + k * {kernel.values.strides[kernel.axis]}] = total;")


def _positions(
    lines: Lines, kernel: Order, nest: Nest, operands: Operands, size: int, step: int, spare: int
) -> None:
    descending = "true" if kernel.descending else "false"
    lines.add(f"long positions[{max(1, kernel.count, spare)}];")
    if kernel.count < size or size <= 16:
        lines.add(f"first_in_order(x, {step}, {size}, {kernel.count}, {descending}, positions);")
    else:
        lines.add(f"long more[{size}];")
        lines.add(f"merge_sort(x, {step}, {size}, {descending}, positions, more);")
    with lines.block(loop("k", str(kernel.count))):
        for operand in operands.items:
            if operand.written:
                view = kernel.values if operand.name == "c" else kernel.indices
                assert view is not None
                value = f"x[positions[k] * {step}]" if operand.name == "c" else "positions[k]"
                place = f"{nest.index(operand)} + k * {view.strides[kernel.axis]}"
                lines.add(f"{operand.name}[{place}] = {value};")


def write_scatter(kernel: ScatterStore) -> Function:
    """One element after the other, so that the last of several writes to a place wins."""
    operands = Operands()
    target = operands.write(kernel.destination)
    source = operands.read(kernel.source)
    for position in kernel.positions:
        for view in views_of(position):
            operands.read(view)
    nest = unfolded(kernel.source.shape, operands)
    writer = ScalarText(lambda view, extra: element(nest, operands.find(view), extra), "r")
    lines = Lines()
    with ExitStack() as stack:
        open_loops(lines, stack, nest, list(nest.axes))
        terms = [nest.index(target)] + [
            f"checked_position(call, {writer.write(position)}, {size}, first_row + r) * {stride}"
            for position, size, stride in zip(
                kernel.positions, kernel.sizes, kernel.strides, strict=True
            )
        ]
        sign = "+=" if kernel.accumulate else "="
        lines.add(f"{target.name}[{' + '.join(terms)}] {sign} {element(nest, source)};")
    return Function("scatter", tuple(operands.items), lines.text(), kernel.comment, True)
