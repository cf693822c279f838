"""In-place ops whose result isn't simply that of the op without the underscore."""

from __future__ import annotations

from collections.abc import Mapping

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.graph.ir import Value


def copy(context: Context, x: Value, source: Value, non_blocking: bool = False) -> Value:
    """x.copy_(source): source in the type and shape of x."""
    del non_blocking
    return context.expand(context.cast(source, x.type.dtype), x.type.shape)


RULES: Mapping[str, Rule] = {**aliases(copy, "copy.default")}
"""By the name without the underscore, as all in-place ops are looked up."""

RESHAPING = frozenset(
    f"aten.{name}.{overload}"
    for name, overload in (
        ("unsqueeze_", "default"), ("squeeze_", "default"), ("squeeze_", "dim"),
        ("squeeze_", "dims"), ("transpose_", "default"), ("t_", "default"),
        ("detach_", "default"), ("requires_grad_", "default"),
    )
)  # fmt: skip
"""Ops with an underscore that change how a tensor is seen, not what it holds."""


def pure_name(key: str) -> str:
    """The op that an in-place op applies: aten.add_.Tensor -> aten.add.Tensor."""
    library, name, overload = key.split(".", 2)
    pure = name[:-1]
    if pure in ("transpose", "swapaxes"):
        overload = "int"
    return f"{library}.{pure}.{overload}"
