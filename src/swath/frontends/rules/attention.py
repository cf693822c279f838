"""Scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Mapping

from swath.frontends.context import Context
from swath.frontends.refusals import missing_rule
from swath.frontends.rules.base import Rule, aliases
from swath.graph.ir import Value
from swath.graph.ops import Attention
from swath.graph.types import DType


def attention(
    context: Context,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(scale * query @ key.T + mask) @ value."""
    if dropout_p > 0:
        raise missing_rule("aten.dropout.default")
    width = query.type.shape[-1]
    assert isinstance(width, int)
    if enable_gqa:
        key, value = _repeat_heads(context, query, key), _repeat_heads(context, query, value)
    factor = 1 / math.sqrt(width) if scale is None else scale
    inputs = [query, key, value]
    if attn_mask is not None:
        if attn_mask.type.dtype is not DType.BOOL:
            attn_mask = context.cast(attn_mask, query.type.dtype)
        inputs.append(attn_mask)
    return context.add(Attention(factor, is_causal), *inputs)


def _repeat_heads(context: Context, query: Value, other: Value) -> Value:
    """Each head of keys or values as often as queries share it."""
    axis = query.type.rank - 3
    heads, shared = query.type.shape[axis], other.type.shape[axis]
    assert isinstance(heads, int)
    assert isinstance(shared, int)
    if heads == shared:
        return other
    shape = other.type.shape
    wide = context.unsqueeze(other, axis + 1)
    wide = context.expand(wide, (*shape[: axis + 1], heads // shared, *shape[axis + 1 :]))
    return context.reshape(wide, (*shape[:axis], heads, *shape[axis + 1 :]))


RULES: Mapping[str, Rule] = {
    **aliases(attention, "scaled_dot_product_attention.default"),
}
