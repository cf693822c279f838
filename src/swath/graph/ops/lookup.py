"""Lookups: rows of constant tables by id. An id outside of its table follows the declared policy
of the input (see swath.Input) and never reads outside of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from swath.graph.ops.base import Op


@dataclass(frozen=True)
class Embedding(Op):
    """table[V, D], ids[...] (int64 or int32) -> rows [..., D]."""

    name: ClassVar[str] = "embedding"


@dataclass(frozen=True)
class LookupGroup(Op):
    """Many tables of one width at once: ids[..., T], then T tables [V_t, D] -> [..., T, D].

    The result at [..., t, :] is table t's row at ids[..., t]."""

    name: ClassVar[str] = "lookup_group"


@dataclass(frozen=True)
class EmbeddingBag(Op):
    """table[V, D], ids[~n], offsets[B] (B + 1 with `include_last`), optional weights[~n] ->
    pooled[B, D]: row b pools ids[offsets[b] : offsets[b + 1]] by `mode` sum, mean or max.

    Ids equal to `padding_id` are left out (of the count of a mean too); -1 means none. An empty
    bag gives zeros. Weights only go with sum."""

    name: ClassVar[str] = "embedding_bag"
    mode: str
    include_last: bool
    padding_id: int = -1
