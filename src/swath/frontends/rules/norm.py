"""Normalisations in inference form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Value
from swath.graph.ops import BatchNorm, LayerNorm, RmsNorm
from swath.graph.ops.base import product
from swath.graph.types import Dim

_EPSILONS = {"f32": 1.1920928955078125e-07, "f64": 2.220446049250313e-16}


def batch_statistics(op: str) -> Unsupported:
    """A normalisation over the batch itself."""
    return Unsupported(
        "SW012",
        f"`{op}` normalises with the statistics of the batch",
        "the result of a row would depend on the other rows of the call",
        "call model.eval(), and keep track_running_stats=True on batch normalisations",
    )


def constant_vector(context: Context, name: str, size: Dim, value: float, like: Value) -> Value:
    """A vector of one value."""
    assert isinstance(size, int)
    return context.constant(name, np.full(size, value, like.type.dtype.numpy))


def batch_norm(
    context: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Any:
    """Normalised by channel with the running statistics."""
    del momentum
    if training or mean is None or variance is None:
        raise batch_statistics(context.op)
    channels = x.type.shape[1]
    if weight is None:
        weight = constant_vector(context, "ones", channels, 1.0, x)
    if bias is None:
        bias = constant_vector(context, "zeros", channels, 0.0, x)
    result = context.add(BatchNorm(eps), x, mean, variance, weight, bias)
    return result if len(context.results) == 1 else (result, *[None] * (len(context.results) - 1))


def batch_norm_inference(
    context: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> Any:
    """The decomposed form without a training flag."""
    return batch_norm(context, x, weight, bias, mean, variance, False, momentum, eps)


def layer_norm(
    context: Context,
    x: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Any:
    """Normalised over the last axes."""
    axes = len(normalized_shape)
    if weight is None and bias is not None:
        weight = context.constant("ones", np.ones(bias.type.static_shape, bias.type.dtype.numpy))
    inputs = [value for value in (x, weight, bias) if value is not None]
    result = context.add(LayerNorm(axes, eps), *inputs)
    return result if len(context.results) == 1 else (result, None, None)


def rms_norm(
    context: Context,
    x: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    """Divided by the root of the mean square over the last axes."""
    epsilon = _EPSILONS[x.type.dtype.value] if eps is None else eps
    inputs = (x,) if weight is None else (x, weight)
    return context.add(RmsNorm(len(normalized_shape), epsilon), *inputs)


def group_norm(
    context: Context,
    x: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Value:
    """Normalised over the channels of a group and all positions, then scaled by channel."""
    shape = x.type.shape
    inner = product(shape[1:])
    assert isinstance(inner, int)
    flat = context.reshape(x, (shape[0], num_groups, inner // num_groups))
    result = context.reshape(context.add(LayerNorm(1, eps), flat), shape)
    return by_channel(context, result, weight, bias)


def by_channel(context: Context, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """x * weight + bias along axis 1."""
    column = (-1, *(1,) * (x.type.rank - 2))
    if weight is not None:
        x = context.binary("mul", x, context.reshape(weight, (weight.type.shape[0], *column[1:])))
    if bias is not None:
        x = context.binary("add", x, context.reshape(bias, (bias.type.shape[0], *column[1:])))
    return x


def instance_norm(
    context: Context,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Value:
    """Normalised over the positions of each channel of each row."""
    if not use_input_stats:
        return batch_norm(context, x, weight, bias, mean, variance, False, momentum, eps)
    shape = x.type.shape
    flat = context.reshape(x, (*shape[:2], product(shape[2:])))
    result = context.reshape(context.add(LayerNorm(1, eps), flat), shape)
    return by_channel(context, result, weight, bias)


RULES: Mapping[str, Rule] = {
    **aliases(batch_norm, "batch_norm.default", "native_batch_norm.default",
              "cudnn_batch_norm.default"),
    **aliases(batch_norm_inference, "_native_batch_norm_legit_no_training.default"),
    **aliases(layer_norm, "layer_norm.default"),
    **aliases(layer_norm, "native_layer_norm.default"),
    **aliases(rms_norm, "rms_norm.default"),
    **aliases(group_norm, "group_norm.default"),
    **aliases(instance_norm, "instance_norm.default"),
}  # fmt: skip
