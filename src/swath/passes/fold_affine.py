"""Scales and shifts by constants go into the weights of a linear or a convolution beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from swath.graph.ir import Array, Graph, Value
from swath.graph.ops import Binary, Convolution, Linear, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, is_static, rewrite, types

# Constants that broadcast to more elements are not looked at.
_MOST_ELEMENTS = 1 << 22


def fold_affine(graph: Graph) -> Graph:
    """Fold multiplications and additions with constants (what a batch norm in inference form is)
    into the weights of the linear or convolution that they follow, or that alone reads them.
    A reshape may lie between.

    The arithmetic on weights is done in double precision and rounded once. A shift in front of a
    convolution stays where the convolution pads: the border would miss it.

    Before:
        input %x: f32[1,1] @candidate
        constant %w: f32[2,1] @once = [1.0, 2.0]
        constant %scale: f32[2] @once = [3.0, 0.5]
        constant %shift: f32[2] @once = [1.0, -1.0]
        %a: f32[1,2] @candidate = linear(%x, %w)
        %b: f32[1,2] @candidate = binary(%a, %scale, function="mul")
        %c: f32[1,2] @candidate = binary(%b, %shift, function="add")
        return %c
    After:
        input %x: f32[1,1] @candidate
        constant %b.weight: f32[2,1] @once = [3.0, 1.0]
        constant %c.bias: f32[2] @once = [1.0, -1.0]
        %c: f32[1,2] @candidate = linear(%x, %b.weight, %c.bias)
        return %c

    Before:
        input %x: f32[1,2] @candidate
        constant %scale: f32[2] @once = [3.0, 0.5]
        constant %shift: f32[2] @once = [1.0, -1.0]
        constant %w: f32[1,2] @once = [1.0, 2.0]
        constant %bias: f32[1] @once = [0.5]
        %a: f32[1,2] @candidate = binary(%x, %scale, function="mul")
        %b: f32[1,2] @candidate = binary(%a, %shift, function="add")
        %c: f32[1,1] @candidate = linear(%b, %w, %bias)
        return %c
    After:
        input %x: f32[1,2] @candidate
        constant %c.weight: f32[1,2] @once = [3.0, 1.0]
        constant %c.bias: f32[1] @once = [-0.5]
        %c: f32[1,1] @candidate = linear(%x, %c.weight, %c.bias)
        return %c
    """
    return rewrite(graph, (_behind, partial(_in_front, _needed_elsewhere(graph))))


@dataclass(slots=True)
class _Affine:
    """x * scale + shift, where the arrays broadcast to x; None for 1 and 0."""

    x: Value
    scale: Array | None = None
    shift: Array | None = None

    def then(self, outer: _Affine) -> _Affine:
        """`outer` of this."""
        scale, shift = self.scale, self.shift
        if outer.scale is not None:
            scale = outer.scale if scale is None else scale * outer.scale
            shift = None if shift is None else shift * outer.scale
        if outer.shift is not None:
            shift = outer.shift if shift is None else shift + outer.shift
        return _Affine(self.x, scale, shift)


def _behind(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    affine = _affine(rewriter, op, inputs)
    if affine is None or rewriter.uses(affine.x) != 1:
        return None
    source, shape = affine.x, affine.x.type.static_shape
    reshaped = rewriter.made_by(source, Reshape)
    if reshaped is not None:
        source = reshaped[1][0]
        if rewriter.uses(source) != 1 or not is_static(source):
            return None
    node = rewriter.producer(source)
    if node is None or not isinstance(node.op, Linear | Convolution):
        return None
    axis = len(source.type.shape) - 1 if isinstance(node.op, Linear) else 1
    channels = _channels(affine, shape, source.type.static_shape, axis)
    if channels is None:
        return None
    changed = _scaled_results(rewriter, node.inputs, *channels)
    if changed is None:
        return None
    if reshaped is None:
        return node.op, changed
    return Reshape(shape), (rewriter.add(node.op, *changed),)


def _in_front(elsewhere: set[Value], rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    if not isinstance(op, Linear | Convolution):
        return None
    value = inputs[0]
    reshaped = rewriter.made_by(value, Reshape)
    source = value if reshaped is None else reshaped[1][0]
    affine = _affine_chain(rewriter, source)
    if affine is None or source in elsewhere:
        return None
    if affine.shift is not None and isinstance(op, Convolution) and _pads(op):
        return None
    shape = value.type.static_shape
    axis = len(shape) - 1 if isinstance(op, Linear) else 1
    channels = _channels(affine, source.type.static_shape, shape, axis)
    if channels is None:
        return None
    changed = _scaled_inputs(rewriter, op, inputs, *channels)
    if changed is None:
        return None
    x = affine.x if reshaped is None else rewriter.add(Reshape(shape), affine.x)
    return op, (x, *changed)


def _affine(rewriter: Rewriter, op: Op, inputs: Inputs) -> _Affine | None:
    """A node as x * scale + shift."""
    if not isinstance(op, Binary) or op.function not in ("add", "sub", "mul", "div"):
        return None
    x, constant = inputs
    array = rewriter.array(constant)
    if array is None and op.function in ("add", "mul"):
        x, constant = constant, x
        array = rewriter.array(constant)
    if array is None or array.dtype.kind != "f" or not is_static(x):
        return None
    (result,) = op.infer(types(inputs))
    if result.shape != x.type.shape or x.type.elements > _MOST_ELEMENTS:
        return None
    wide = array.astype(np.float64)
    match op.function:
        case "add":
            return _Affine(x, shift=wide)
        case "sub":
            return _Affine(x, shift=-wide)
        case "mul":
            return _Affine(x, scale=wide)
        case _:
            return _Affine(x, scale=1 / wide) if np.all(wide) else None


def _affine_chain(rewriter: Rewriter, value: Value) -> _Affine | None:
    """All that follow one another up to `value`, none of which anything else reads."""
    found: _Affine | None = None
    while True:
        node = rewriter.producer(value)
        link = None if node is None else _affine(rewriter, node.op, node.inputs)
        if link is None or (found is not None and rewriter.uses(value) != 1):
            return found
        found = link if found is None else link.then(found)
        value = link.x


def _needed_elsewhere(graph: Graph) -> set[Value]:
    """Values that not only linears and convolutions read (through reshapes): an affine that has to
    be computed anyway is not worth folding."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if isinstance(node.op, Linear | Convolution):
            constant = all(graph.constant(value) is not None for value in node.inputs[1:])
            needed.update(node.inputs[1:] if constant else node.inputs)
        elif not isinstance(node.op, Reshape) or node.output in needed:
            needed.update(node.inputs)
    return needed


def _channels(
    affine: _Affine, shape: tuple[int, ...], viewed: tuple[int, ...], axis: int
) -> tuple[Array | None, Array | None] | None:
    """Scale and shift of each channel along `axis` of shape `viewed`, into which a value of
    `shape` is reshaped; None if they differ within a channel."""
    found: list[Array | None] = []
    if 0 in shape:
        return None
    for array in (affine.scale, affine.shift):
        if array is None:
            found.append(None)
            continue
        whole = np.moveaxis(np.broadcast_to(array, shape).reshape(viewed), axis, -1)
        rows = whole.reshape(-1, viewed[axis])
        if not np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape)):
            return None
        found.append(rows[0])
    return found[0], found[1]


def _scaled_results(
    rewriter: Rewriter, inputs: Inputs, scale: Array | None, shift: Array | None
) -> Inputs | None:
    """The inputs of a product that gives scale * result + shift."""
    x, weight, *biases = inputs
    array, bias = rewriter.array(weight), rewriter.array(biases[0]) if biases else None
    if array is None or (biases and bias is None):
        return None
    total = None if bias is None else bias.astype(np.float64)
    if scale is not None:
        column = scale.reshape(-1, *(1,) * (array.ndim - 1))
        weight = rewriter.constant((array * column).astype(array.dtype), "weight")
        total = None if total is None else total * scale
    if shift is not None:
        total = shift if total is None else total + shift
    return _with_bias(rewriter, (x, weight), total, array)


def _scaled_inputs(
    rewriter: Rewriter, op: Op, inputs: Inputs, scale: Array | None, shift: Array | None
) -> Inputs | None:
    """The weight and bias of a product that takes x for scale * x + shift."""
    _, weight, *biases = inputs
    array, bias = rewriter.array(weight), rewriter.array(biases[0]) if biases else None
    if array is None or (biases and bias is None):
        return None
    wide = array.astype(np.float64)
    total = None if bias is None else bias.astype(np.float64)
    if shift is not None:
        moved = wide * _per_input(op, shift, array)
        moved = moved.reshape(len(moved), -1).sum(axis=1)
        total = moved if total is None else total + moved
    if scale is not None:
        scaled = (wide * _per_input(op, scale, array)).astype(array.dtype)
        weight = rewriter.constant(scaled, "weight")
    return _with_bias(rewriter, (weight,), total, array)


def _with_bias(rewriter: Rewriter, inputs: Inputs, bias: Array | None, like: Array) -> Inputs:
    if bias is None:
        return inputs
    return (*inputs, rewriter.constant(bias.astype(like.dtype), "bias"))


def _per_input(op: Op, channels: Array, weight: Array) -> Array:
    """An array with one element for each input channel, in the place of that in the weight."""
    if not isinstance(op, Convolution):
        return channels
    groups = channels.reshape(op.groups, -1)
    rows = np.repeat(groups, len(weight) // op.groups, axis=0)
    return rows.reshape(*rows.shape, *(1,) * (weight.ndim - 2))


def _pads(op: Convolution) -> bool:
    return any(before or after for before, after in op.padding)
