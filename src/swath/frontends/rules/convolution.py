"""Convolution, pooling, padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import mixes_rows, unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Convolution, Pool, Take

Sizes = int | Sequence[int]


def spread(sizes: Sizes, axes: int) -> tuple[int, ...]:
    """A size for each spatial axis: one number stands for all."""
    if isinstance(sizes, int):
        return (sizes,) * axes
    return tuple(sizes) * axes if len(sizes) == 1 else tuple(sizes)


def convolution(axes: int) -> Rule:
    """conv1d, conv2d."""

    def rule(
        context: Context,
        input: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Value:
        steps, gaps = spread(stride, axes), spread(dilation, axes)
        kernel = weight.type.static_shape[2:]
        if isinstance(padding, str):
            margins = tuple(
                _same(gap * (size - 1)) if padding == "same" else (0, 0)
                for size, gap in zip(kernel, gaps, strict=True)
            )
        else:
            margins = tuple((margin, margin) for margin in spread(padding, axes))
        x = input if input.type.rank == axes + 2 else context.unsqueeze(input, 0)
        inputs = (x, weight) if bias is None else (x, weight, bias)
        result = context.add(Convolution(steps, margins, gaps, groups), *inputs)
        return context.reshape(result, context.result.shape)

    return rule


def _same(total: int) -> tuple[int, int]:
    return total // 2, total - total // 2


def any_convolution(
    context: Context,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """The decomposed form."""
    del output_padding
    axes = weight.type.rank - 2
    if transposed or axes not in (1, 2):
        raise unsupported_form(context.op, "a transposed convolution or three spatial axes")
    return convolution(axes)(context, input, weight, bias, stride, padding, dilation, groups)


def pooling(function: str, axes: int) -> Rule:
    """max_pool1d, max_pool2d (with or without positions)."""

    def rule(
        context: Context,
        x: Value,
        kernel_size: Sizes,
        stride: Sizes = (),
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> Any:
        if any(gap != 1 for gap in spread(dilation, axes)):
            raise unsupported_form(context.op, "dilation")
        result = _pool(context, x, function, axes, (kernel_size, stride, padding), ceil_mode, True)
        return result if len(context.results) == 1 else (result, None)

    return rule


def average(axes: int) -> Rule:
    """avg_pool1d, avg_pool2d."""

    def rule(
        context: Context,
        x: Value,
        kernel_size: Sizes,
        stride: Sizes = (),
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        if divisor_override is not None or ceil_mode:
            raise unsupported_form(context.op, "divisor_override or ceil_mode")
        windows = (kernel_size, stride, padding)
        return _pool(context, x, "mean", axes, windows, False, count_include_pad)

    return rule


def _pool(
    context: Context,
    x: Value,
    function: str,
    axes: int,
    windows: tuple[Sizes, Sizes, Sizes],
    ceil_mode: bool,
    count_padding: bool,
) -> Value:
    kernel = spread(windows[0], axes)
    steps = spread(windows[1], axes) if windows[1] != () and windows[1] != [] else kernel
    margins = [(margin, margin) for margin in spread(windows[2], axes)]
    if ceil_mode:
        sizes = x.type.shape[-axes:]
        wanted = context.result.shape[-axes:]
        for i, (size, count) in enumerate(zip(sizes, wanted, strict=True)):
            assert isinstance(size, int)
            assert isinstance(count, int)
            missing = (count - 1) * steps[i] + kernel[i] - size - 2 * margins[i][0]
            margins[i] = (margins[i][0], margins[i][1] + max(0, missing))
    return context.add(Pool(function, kernel, steps, tuple(margins), count_padding), x)


def adaptive(function: str, axes: int) -> Rule:
    """adaptive_avg_pool, adaptive_max_pool to sizes that divide the input."""

    def rule(context: Context, x: Value, output_size: Sizes) -> Any:
        targets = context.result.shape[-axes:]
        kernel: list[int] = []
        for size, target in zip(x.type.shape[-axes:], targets, strict=True):
            if not isinstance(size, int) or not isinstance(target, int) or size % target:
                raise unsupported_form(
                    context.op, f"output size {output_size}, which doesn't divide"
                )
            kernel.append(size // target)
        if all(target == 1 for target in targets):
            last = range(x.type.rank - axes, x.type.rank)
            result = context.reduce("mean" if function == "mean" else "max", x, tuple(last), True)
        else:
            margins = ((0, 0),) * axes
            result = context.add(Pool(function, tuple(kernel), tuple(kernel), margins), x)
        return result if len(context.results) == 1 else (result, None)

    return rule


def pad(
    context: Context,
    x: Value,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Value:
    """Elements added (or cut off) at the ends of the last axes."""
    for i in range(len(pad) // 2):
        axis = x.type.rank - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        if before == after == 0:
            continue
        if not isinstance(x.type.shape[axis], int):
            raise mixes_rows(context.op, "pads the batch")
        x = _pad_axis(context, x, axis, before, after, mode, value)
    return x


def constant_pad(context: Context, x: Value, pad_: Sequence[int], value: float = 0) -> Value:
    """The decomposed form."""
    return pad(context, x, pad_, "constant", value)


def _pad_axis(
    context: Context, x: Value, axis: int, before: int, after: int, mode: str, value: float | None
) -> Value:
    size = x.type.shape[axis]
    assert isinstance(size, int)
    if mode != "constant":
        positions = range(-before, size + after)
        return context.add(Take(axis, tuple(_mirror(i, size, mode) for i in positions)), x)
    parts = [context.slice(x, axis, max(0, -before), size - max(0, -after))]
    shape = x.type.shape
    for width, in_front in ((before, True), (after, False)):
        if width > 0:
            margin = context.fill(
                (*shape[:axis], width, *shape[axis + 1 :]), value or 0.0, x.type.dtype
            )
            parts = [margin, *parts] if in_front else [*parts, margin]
    return context.concat(parts, axis)


def _mirror(position: int, size: int, mode: str) -> int:
    """Which element stands at a position outside of the axis."""
    if mode == "replicate":
        return min(max(position, 0), size - 1)
    if mode == "circular":
        return position % size
    if position < 0:
        return -position
    return 2 * (size - 1) - position if position >= size else position


RULES: Mapping[str, Rule] = {
    **aliases(convolution(1), "conv1d.default", "conv1d.padding"),
    **aliases(convolution(2), "conv2d.default", "conv2d.padding"),
    **aliases(any_convolution, "convolution.default"),
    **aliases(pooling("max", 1), "max_pool1d.default", "max_pool1d_with_indices.default"),
    **aliases(pooling("max", 2), "max_pool2d.default", "max_pool2d_with_indices.default"),
    **aliases(average(1), "avg_pool1d.default"),
    **aliases(average(2), "avg_pool2d.default"),
    **aliases(adaptive("mean", 1), "adaptive_avg_pool1d.default"),
    **aliases(adaptive("mean", 2), "adaptive_avg_pool2d.default", "_adaptive_avg_pool2d.default"),
    **aliases(adaptive("max", 1), "adaptive_max_pool1d.default"),
    **aliases(adaptive("max", 2), "adaptive_max_pool2d.default"),
    **aliases(pad, "pad.default"),
    **aliases(constant_pad, "constant_pad_nd.default"),
}  # fmt: skip
