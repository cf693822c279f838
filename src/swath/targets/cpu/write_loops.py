"""Element-wise kernels and reductions as loop nests."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from swath.graph.types import DType
from swath.targets.cpu.expression_text import ScalarText, VectorText, needs_call
from swath.targets.cpu.functions import Function, Operand, Operands, loop
from swath.targets.cpu.loops import Axis, Stride, fold, lane_cost, loop_axes, order
from swath.targets.cpu.text import C_TYPES, Lines, literal
from swath.tile.expressions import (
    Apply,
    Expression,
    Result,
    map_views,
    runs_on_lanes,
    views_of,
    walk,
)
from swath.tile.kernels import Pointwise, Reduction
from swath.tile.views import View


@dataclass(frozen=True, slots=True)
class Nest:
    """The axes of a loop nest, outermost first, and the operands whose strides they hold."""

    axes: tuple[Axis, ...]
    operands: tuple[Operand, ...]

    def variable(self, axis: Axis) -> str:
        """The loop variable of an axis."""
        return "r" if axis.rows else f"i{self.axes.index(axis)}"

    def stride(self, operand: Operand, axis: Axis) -> Stride:
        """The stride of an operand along an axis."""
        return axis.strides[self.operands.index(operand)]

    def index(self, operand: Operand, skip: Axis | None = None) -> str:
        """The offset of an operand's element at the loop variables."""
        terms: list[str] = []
        for axis in self.axes:
            stride = self.stride(operand, axis)
            if stride == 0 or axis is skip:
                continue
            variable = self.variable(axis)
            terms.append(variable if stride == 1 else f"{variable} * {stride}")
        return " + ".join(terms) or "0"


def make_nest(shape: tuple[int, ...], operands: Operands, reduced: tuple[int, ...] = ()) -> Nest:
    """All operands as loops over `shape`; kept axes first."""
    items = tuple(operands.items)
    views = [operand.view.expand(shape) for operand in items]
    axes = order(loop_axes(shape, views, [o.name for o in items], reduced))
    axes = [a for a in axes if not a.reduced] + [a for a in axes if a.reduced]
    return Nest(tuple(fold(axes)), items)


def element(nest: Nest, operand: Operand, extra: str = "") -> str:
    """One element as a scalar."""
    index = nest.index(operand)
    index = f"{index} + {extra}" if extra else index
    text = f"{operand.name}[{index}]"
    return f"({text} != 0)" if operand.view.buffer.dtype is DType.BOOL else text


def lane_load(nest: Nest, operand: Operand, lane: Axis) -> str:
    """The lanes of an operand from lane variable `i` on."""
    stride, base = nest.stride(operand, lane), nest.index(operand, skip=lane)
    if stride == 0:
        return f"broadcast({operand.name}[{base}])"
    start = f"{operand.name} + {base}" if base != "0" else operand.name
    if stride == 1:
        return f"load({start} + i, n)"
    return f"load_strided({start} + i * {stride}, {stride}, n)"


def lane_store(nest: Nest, operand: Operand, lane: Axis, value: str) -> str:
    """Store the lanes of the destination."""
    stride, base = nest.stride(operand, lane), nest.index(operand, skip=lane)
    start = f"{operand.name} + {base}" if base != "0" else operand.name
    if stride == 1:
        return f"store({start} + i, {value}, n);"
    return f"store_strided({start} + i * {stride}, {stride}, {value}, n);"


def open_loops(lines: Lines, stack: ExitStack, nest: Nest, axes: list[Axis]) -> None:
    """Open one loop per axis."""
    for axis in axes:
        stack.enter_context(lines.block(loop(nest.variable(axis), axis.bound)))


def write_pointwise(kernel: Pointwise) -> Function:
    """Loops over all axes; the last one runs along the lanes if everything is float32."""
    operands = Operands()
    target = operands.write(kernel.destination)
    for view in views_of(kernel.value):
        operands.read(view)
    shape = kernel.destination.shape
    nest = make_nest(shape, operands)
    lines = Lines()
    if kernel.destination.buffer.dtype is DType.FLOAT32 and runs_on_lanes(kernel.value):
        _pointwise_lanes(lines, nest, operands, target, kernel.value)
    else:
        _pointwise_scalar(lines, nest, operands, target, kernel.value)
    return Function(
        "pointwise", tuple(operands.items), lines.text(), kernel.comment, needs_call(kernel.value)
    )


def _pointwise_lanes(
    lines: Lines, nest: Nest, operands: Operands, target: Operand, value: Expression
) -> None:
    lane = min(nest.axes, key=lane_cost)
    text = VectorText(lambda view: lane_load(nest, operands.find(view), lane)).write(value)
    with ExitStack() as stack:
        open_loops(lines, stack, nest, [axis for axis in nest.axes if axis is not lane])
        with lines.block(f"lanes({lane.bound}, SWATH_BODY {{", "});"):
            lines.add(lane_store(nest, target, lane, text))


def _pointwise_scalar(
    lines: Lines, nest: Nest, operands: Operands, target: Operand, value: Expression
) -> None:
    writer = ScalarText(lambda view, extra: element(nest, operands.find(view), extra), "r")
    text = writer.write(value)
    with ExitStack() as stack:
        open_loops(lines, stack, nest, list(nest.axes))
        lines.add(f"{target.name}[{nest.index(target)}] = {text};")


NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
LANE_STEPS = {"sum": "{0} + {1}", "mean": "{0} + {1}", "prod": "{0} * {1}",
              "max": "max({0}, {1})", "min": "min({0}, {1})"}  # fmt: skip
LANE_FOLDS = {"sum": "sum_lanes", "mean": "sum_lanes", "prod": "prod_lanes", "max": "max_lanes",
              "min": "min_lanes"}  # fmt: skip
SCALAR_STEPS = {"sum": "{0} + {1}", "mean": "{0} + {1}", "prod": "{0} * {1}",
                "max": "scalar::max({0}, {1})", "min": "scalar::min({0}, {1})",
                "any": "{0} | ({1} != 0)", "all": "{0} & ({1} != 0)"}  # fmt: skip


def write_reduction(kernel: Reduction) -> Function:
    """Kept axes outside; the lanes run along whichever axis costs least."""
    operands = Operands()
    target = operands.write(_spread(kernel.destination, kernel.shape))
    views = views_of(kernel.value)
    finish_views = views_of(kernel.finish)
    kernel = _spread_finish(kernel)
    for view in (*views, *(_spread(v, kernel.shape) for v in finish_views)):
        operands.read(view)
    nest = make_nest(kernel.shape, operands, kernel.axes)
    lines = Lines()
    lanes = runs_on_lanes(kernel.value) and runs_on_lanes(kernel.finish)
    if not lanes or kernel.destination.buffer.dtype is not DType.FLOAT32:
        _reduce_scalar(lines, nest, operands, target, kernel)
    else:
        lane = _reduction_lane(nest, operands, views, target)
        if lane.reduced:
            _reduce_along_lanes(lines, nest, operands, target, kernel, lane)
        else:
            _reduce_beside_lanes(lines, nest, operands, target, kernel, lane)
    faults = needs_call(kernel.value) or needs_call(kernel.finish)
    return Function("reduce", tuple(operands.items), lines.text(), kernel.comment, faults)


def _spread(view: View, shape: tuple[int, ...]) -> View:
    """A view with size 1 along reduced axes as one over the whole domain."""
    return view.expand(shape)


def _spread_finish(kernel: Reduction) -> Reduction:
    spread = map_views(kernel.finish, lambda view: _spread(view, kernel.shape))
    return replace(kernel, finish=spread)


def _reduction_lane(nest: Nest, operands: Operands, views: list[View], target: Operand) -> Axis:
    """The axis along which the loads of the value (and the one store) cost least."""
    used = [nest.operands.index(operands.find(view)) for view in views]
    used.append(nest.operands.index(target))
    return min(
        nest.axes,
        key=lambda axis: lane_cost(replace(axis, strides=tuple(axis.strides[i] for i in used))),
    )


def _finished(kernel: Reduction, nest: Nest, total: str) -> str:
    if kernel.function != "mean":
        return total
    count = 1
    for axis in nest.axes:
        count *= axis.extent if axis.reduced else 1
    return f"({total} / broadcast({literal(count, DType.FLOAT32)}))"


def _reduce_beside_lanes(
    lines: Lines, nest: Nest, operands: Operands, target: Operand, kernel: Reduction, lane: Axis
) -> None:
    """Each lane sums up its own element."""
    load = VectorText(lambda view: lane_load(nest, operands.find(view), lane))
    outer = [axis for axis in nest.axes if axis is not lane and not axis.reduced]
    with ExitStack() as stack:
        open_loops(lines, stack, nest, outer)
        with lines.block(f"lanes({lane.bound}, SWATH_BODY {{", "});"):
            neutral = literal(NEUTRAL[kernel.function], DType.FLOAT32)
            lines.add(f"f32v total = broadcast({neutral});")
            with ExitStack() as inner:
                open_loops(lines, inner, nest, [axis for axis in nest.axes if axis.reduced])
                lines.add(f"total = {_step(kernel, load)};")
            total = _finished(kernel, nest, "total")
            text = replace(load, result=total).write(kernel.finish)
            lines.add(lane_store(nest, target, lane, text))


def _step(kernel: Reduction, load: VectorText) -> str:
    """One more element; a product is added by one fused multiply-add."""
    value = kernel.value
    summed = kernel.function in ("sum", "mean")
    if summed and isinstance(value, Apply) and value.function == "mul":
        left, right = (load.write(argument) for argument in value.arguments)
        return f"fma({left}, {right}, total)"
    return LANE_STEPS[kernel.function].format("total", load.write(value))


def _reduce_along_lanes(
    lines: Lines, nest: Nest, operands: Operands, target: Operand, kernel: Reduction, lane: Axis
) -> None:
    """The lanes hold parts of one sum, which are folded in a fixed order."""
    load = VectorText(lambda view: lane_load(nest, operands.find(view), lane))
    kept = [axis for axis in nest.axes if not axis.reduced]
    neutral = literal(NEUTRAL[kernel.function], DType.FLOAT32)
    with ExitStack() as stack:
        open_loops(lines, stack, nest, kept)
        lines.add(f"f32v total = broadcast({neutral});")
        with ExitStack() as inner:
            others = [axis for axis in nest.axes if axis.reduced and axis is not lane]
            open_loops(lines, inner, nest, others)
            with lines.block(f"lanes({lane.bound}, SWATH_BODY {{", "});"):
                if kernel.function in ("sum", "mean"):
                    lines.add(f"total = keep({_step(kernel, load)}, total, n);")
                else:
                    kept_value = f"keep({load.write(kernel.value)}, {neutral}, n)"
                    lines.add(f"total = {LANE_STEPS[kernel.function].format('total', kept_value)};")
        lines.add(f"const f32v whole = broadcast({LANE_FOLDS[kernel.function]}(total));")
        one = VectorText(
            lambda view: f"broadcast({element(nest, operands.find(view))})",
            _finished(kernel, nest, "whole"),
        )
        lines.add(f"{target.name}[{nest.index(target)}] = {one.write(kernel.finish)}[0];")


def _reduce_scalar(
    lines: Lines, nest: Nest, operands: Operands, target: Operand, kernel: Reduction
) -> None:
    dtype = kernel.value.dtype
    if kernel.function in ("sum", "mean", "prod") and not dtype.is_float:
        dtype = _result_dtype(kernel.finish, dtype)
    if kernel.function in ("any", "all"):
        dtype = DType.BOOL
    writer = ScalarText(lambda view, extra: element(nest, operands.find(view), extra), "r")
    with ExitStack() as stack:
        open_loops(lines, stack, nest, [axis for axis in nest.axes if not axis.reduced])
        lines.add(f"{C_TYPES[dtype]} total = {_scalar_start(kernel.function, dtype)};")
        with ExitStack() as inner:
            open_loops(lines, inner, nest, [axis for axis in nest.axes if axis.reduced])
            value = writer.write(kernel.value)
            if kernel.value.dtype is not dtype:
                value = f"scalar::convert<{C_TYPES[dtype]}>({value})"
            lines.add(f"total = {SCALAR_STEPS[kernel.function].format('total', value)};")
        result = "total"
        if kernel.function == "mean":
            count = 1
            for axis in nest.axes:
                count *= axis.extent if axis.reduced else 1
            result = f"(total / {literal(count, dtype)})"
        text = replace(writer, result=result).write(kernel.finish)
        lines.add(f"{target.name}[{nest.index(target)}] = {text};")


def _result_dtype(finish: Expression, fallback: DType) -> DType:
    results = [part.dtype for part in walk(finish) if isinstance(part, Result)]
    return results[0] if results else fallback


def _scalar_start(function: str, dtype: DType) -> str:
    if function in ("sum", "mean", "any"):
        return literal(0, dtype)
    if function in ("prod", "all"):
        return literal(1, dtype)
    if dtype.is_float:
        return literal(NEUTRAL[function], dtype)
    if dtype is DType.BOOL:
        return "false" if function == "max" else "true"
    bits = 8 * dtype.size
    signed = dtype is not DType.UINT8
    lowest = -(1 << (bits - 1)) if signed else 0
    highest = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    return literal(lowest if function == "max" else highest, dtype)
