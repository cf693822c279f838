"""Matrix products as calls of the register-tiled kernel in gemm.h."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from swath.targets.cpu.expression_text import VectorText
from swath.targets.cpu.functions import Function, Operand, Operands, loop
from swath.targets.cpu.loops import Axis, Stride, fold, row_stride
from swath.targets.cpu.text import Lines
from swath.tile.expressions import Apply, Expression, Load, Result, views_of
from swath.tile.kernels import Product
from swath.tile.views import BufferKind, View

PANEL = 16  # columns of a panel of packed weights
INLINE = "__attribute__((always_inline))"
FEW_ROWS = 6  # rows of a product from which on an inner axis beats the rows of the swath


@dataclass(frozen=True, slots=True)
class Sides:
    """The operands of a product; `finish` views come after the first three."""

    target: Operand
    left: Operand
    right: Operand
    finish: tuple[Operand, ...]

    def all(self) -> tuple[Operand, ...]:
        """In the order of the strides of the axes."""
        return (self.target, self.left, self.right, *self.finish)


def write_product(kernel: Product) -> Function:
    """Loops over whatever changes the right side; one product call for the rest."""
    bias, finish = _split_bias(kernel)
    operands = Operands()
    target = operands.write(kernel.destination)
    left, right = operands.read(kernel.left), operands.read(kernel.right)
    start = operands.read(bias) if bias is not None else None
    finish_operands = tuple(operands.read(view) for view in views_of(finish))
    sides = Sides(target, left, right, finish_operands)
    axes, columns = _axes(kernel, sides, start)
    rows_axis = _product_rows(axes)
    loops = [axis for axis in axes if axis is not rows_axis]
    lines = Lines()
    with ExitStack() as stack:
        names = {axis: "r" if axis.rows else f"i{i}" for i, axis in enumerate(axes)}
        for axis in loops:
            stack.enter_context(lines.block(loop(names[axis], axis.bound)))
        items = (*sides.all(), *((start,) if start else ()))
        base = {
            operand.name: _base(operand, position, loops, names)
            for position, operand in enumerate(items)
        }
        strides = {
            operand.name: rows_axis.strides[position] if rows_axis is not None else 0
            for position, operand in enumerate(items)
        }
        _call(
            lines,
            kernel,
            sides,
            start,
            finish,
            base,
            strides,
            columns,
            rows_axis.bound if rows_axis is not None else "1",
        )
    return Function(
        "product", tuple(operands.items), lines.text(), kernel.comment, extra="Fetch* fetch"
    )


def _axes(kernel: Product, sides: Sides, start: Operand | None) -> tuple[list[Axis], int]:
    """Rows, batch axes and M, folded; strides of target, left, right, finish views, bias."""
    *lead, rows, columns = kernel.destination.shape
    shape = (*lead, rows)
    trailing = 3 if kernel.packed else 2
    views = [_outer(sides.target.view, 1), _outer(sides.left.view, 1)]
    right = sides.right.view
    keep = len(right.shape) - trailing
    views.append(View(right.buffer, 0, (*right.shape[:keep], 1), (*right.strides[:keep], 0)))
    views += [_outer(operand.view, 1) for operand in sides.finish]
    operands = list(sides.all())
    if start is not None:
        views.append(_outer(start.view, 1))
        operands.append(start)
    views = [view.expand(shape) for view in views]
    strides = [row_stride(v, o.row_parameter) for v, o in zip(views, operands, strict=True)]
    axes = [Axis(1, tuple(strides), rows=True)]
    for index, size in enumerate(shape):
        if size != 1:
            axes.append(Axis(size, tuple(view.strides[index] for view in views)))
    return _fold_free(axes), columns


def _fold_free(axes: list[Axis]) -> list[Axis]:
    """Fold neighbours; an axis that moves the right side stays a loop of its own."""
    result: list[Axis] = []
    run: list[Axis] = []
    for axis in axes:
        if axis.strides[2] != 0:
            result += [*fold(run), axis]
            run = []
        else:
            run.append(axis)
    return [*result, *fold(run)]


def _outer(view: View, columns: int) -> View:
    """The view without its last axes."""
    keep = len(view.shape) - columns
    return View(view.buffer, view.offset, view.shape[:keep], view.strides[:keep])


def _product_rows(axes: list[Axis]) -> Axis | None:
    """The axis that the product call runs over: a long inner one, else the rows of the swath."""
    free = [axis for axis in axes if axis.strides[2] == 0]
    if not free:
        return None
    fixed = [axis for axis in free if not axis.rows]
    longest = max(fixed, key=lambda axis: axis.extent, default=None)
    rows = next((axis for axis in free if axis.rows), None)
    if rows is None or (longest is not None and longest.extent >= FEW_ROWS * rows.extent):
        return longest
    return rows


def _base(operand: Operand, position: int, loops: list[Axis], names: dict[Axis, str]) -> str:
    terms = [operand.name]
    for axis in loops:
        stride = axis.strides[position]
        if stride != 0:
            terms.append(names[axis] if stride == 1 else f"{names[axis]} * {stride}")
    return " + ".join(terms)


def _call(
    lines: Lines,
    kernel: Product,
    sides: Sides,
    start: Operand | None,
    finish: Expression,
    base: dict[str, str],
    strides: dict[str, Stride],
    columns: int,
    rows: str,
) -> None:
    depth = kernel.depth
    left_stride = kernel.left.strides[-1] if depth > 1 else 1
    left = f"Left{{{base[sides.left.name]}, {strides[sides.left.name]}, {left_stride}}}"
    if kernel.turned:
        across = kernel.right.strides[-1]
        lines.add(f"alignas(64) float turned[{-(-columns // PANEL) * PANEL * depth}];")
        lines.add(
            f"pack_transposed({columns}, {depth}, {base[sides.right.name]}, {across}, turned);"
        )
        right = f"packed_weights(turned, {depth})"
    elif kernel.packed:
        right = f"packed_weights({base[sides.right.name]}, {depth})"
    else:
        right = f"matrix({base[sides.right.name]}, {kernel.right.strides[-2]})"
    begin = f"from_bias({base[start.name]})" if start is not None else "FROM_ZERO"
    for operand in (sides.target, *sides.finish):
        lines.add(f"auto* const {operand.name}_at = {base[operand.name]};")
    lines.add(f"product({rows}, {columns}, {depth}, {left}, {right}, {begin},")
    column = kernel.destination.strides[-1] if columns > 1 else 1
    ready = _ready_sink(finish)
    if ready is not None and column == 1:
        stride = strides[sides.target.name]
        lines.add(f"        to_rows({sides.target.name}_at, {stride}{ready}), fetch);")
        return

    def load(view: View) -> str:
        operand = next(o for o in sides.finish if o.view == view)
        place = _element(strides[operand.name])
        step = view.strides[-1] if columns > 1 else 0
        if step == 0:
            return f"broadcast({operand.name}_at[{place}])"
        if step == 1:
            return f"load({operand.name}_at + {place} + j, n)"
        return f"load_strided({operand.name}_at + {place} + j * {step}, {step}, n)"

    value = VectorText(load, "sum").write(finish)
    at = f"{sides.target.name}_at + {_element(strides[sides.target.name])} + j"
    with ExitStack() as stack:
        head = f"        [&](f32v sum, long m, long j, long count) {INLINE} {{"
        stack.enter_context(lines.block(head, "}, fetch);"))
        stack.enter_context(lines.block(f"in_lanes(count, [&](auto n) {INLINE} {{", "});"))
        if column == 1:
            lines.add(f"store({at}, {value}, n);")
        else:
            lines.add(f"store_strided({at} * {column}, {column}, {value}, n);")


def _ready_sink(finish: Expression) -> str | None:
    """The argument of `to_rows` for a finish that the kernel's header knows, which it stores
    straight from registers (a fifth faster where few products are summed)."""
    if isinstance(finish, Result):
        return ""
    if isinstance(finish, Apply) and finish.function == "relu":
        return ", Relu{}" if isinstance(finish.arguments[0], Result) else None
    return None


def _element(stride: Stride) -> str:
    return "0" if stride == 0 else "m" if stride == 1 else f"m * {stride}"


def _split_bias(kernel: Product) -> tuple[View | None, Expression]:
    """A weight per column that is added to the result at once becomes the start of the sum."""
    shape = kernel.destination.shape
    found: list[View] = []

    def visit(expression: Expression) -> Expression:
        if not isinstance(expression, Apply):
            return expression
        if expression.function == "add" and not found:
            for result, other in (expression.arguments, expression.arguments[::-1]):
                if not isinstance(result, Result) or not isinstance(other, Load):
                    continue
                if _is_bias(other.view, shape):
                    found.append(other.view)
                    return result
        return Apply(expression.function, tuple(map(visit, expression.arguments)), expression.dtype)

    finish = visit(kernel.finish)
    return (found[0], finish) if found else (None, kernel.finish)


def _is_bias(view: View, shape: tuple[int, ...]) -> bool:
    return (
        view.buffer.kind is BufferKind.WEIGHT
        and (view.strides[-1] == 1 or shape[-1] == 1)
        and (view.strides[-2] == 0 or shape[-2] == 1)
    )
