"""Embedding lookups and bags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Embedding, EmbeddingBag, Index, Iota
from swath.graph.types import BatchSize, DType

MODES = ("sum", "mean", "max")


def embedding(context: Context, weight: Value, indices: Value, *_: Any, **__: Any) -> Value:
    """weight[indices]; lookups copy whole words, so tables of narrow types are indexed."""
    op = Embedding() if _fills_words(weight) else Index((0,))
    return context.add(op, weight, indices)


def _fills_words(table: Value) -> bool:
    return table.type.dtype.size % DType.FLOAT32.size == 0


def embedding_bag(
    context: Context,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Value | None, ...]:
    """Pooled rows of `weight`; the other three results only serve training."""
    del scale_grad_by_freq, sparse
    rows = weight.type.shape[0]
    padding = -1 if padding_idx is None else padding_idx
    if padding_idx is not None and padding_idx < 0 and isinstance(rows, int):
        padding = padding_idx + rows if padding_idx + rows >= 0 and padding_idx != -1 else -1
    length = _fixed_length(context, indices, offsets)
    if length is not None:
        pooled = _fixed_bag(
            context, weight, indices, per_sample_weights, length, MODES[mode], padding
        )
        return pooled, None, None, None
    if weight.type.dtype is not DType.FLOAT32:
        raise unsupported_form(
            context.op, f"bags by offsets of a table of {weight.type.dtype.value}"
        )
    inputs = [weight, indices, offsets]
    if per_sample_weights is not None:
        inputs.append(per_sample_weights)
    op = EmbeddingBag(MODES[mode], include_last_offset, padding)
    return context.add(op, *inputs), None, None, None


def _fixed_length(context: Context, indices: Value, offsets: Value) -> int | None:
    """The length of all bags, if `offsets` is 0, length, 2 * length, ... (a 2-d input of bags)."""
    node = context.producers.get(offsets)
    size, bags = indices.type.shape[0], offsets.type.shape[0]
    if node is None or not isinstance(node.op, Iota) or node.op.start != 0:
        return None
    length = node.op.step
    if isinstance(size, BatchSize) and isinstance(bags, BatchSize):
        return length if size.multiple == bags.multiple * length else None
    if isinstance(size, int) and isinstance(bags, int):
        return length if size == bags * length else None
    return None


def _fixed_bag(
    context: Context,
    weight: Value,
    indices: Value,
    weights: Value | None,
    length: int,
    mode: str,
    padding: int,
) -> Value:
    bags = context.result.shape[0]
    ids = context.reshape(indices, (bags, length))
    rows = context.add(Embedding(), weight, ids)
    if weights is not None:
        if mode != "sum":
            raise unsupported_form(context.op, f"per_sample_weights and mode {mode!r}")
        factors = context.reshape(weights, (bags, length, 1))
        rows = context.binary("mul", rows, factors)
    if padding < 0:
        return context.reduce(mode, rows, (1,), False)
    kept = context.unsqueeze(context.binary("ne", ids, padding), 2)
    if mode == "max":
        return _masked_maximum(context, rows, kept)
    total = context.reduce("sum", context.where(kept, rows, 0.0), (1,), False)
    if mode == "sum":
        return total
    count = context.reduce("sum", context.cast(kept, DType.INT64), (1,), False)
    count = context.cast(context.binary("maximum", count, 1), total.type.dtype)
    return context.binary("div", total, count)


def _masked_maximum(context: Context, rows: Value, kept: Value) -> Value:
    top = context.reduce("max", context.where(kept, rows, -math.inf), (1,), False)
    some = context.reduce("any", kept, (1,), False)
    return context.where(some, top, 0.0)


RULES: Mapping[str, Rule] = {
    **aliases(embedding, "embedding.default"),
    **aliases(embedding_bag, "embedding_bag.padding_idx", "embedding_bag.default",
              "_embedding_bag.default", "_embedding_bag_forward_only.default"),
}  # fmt: skip
