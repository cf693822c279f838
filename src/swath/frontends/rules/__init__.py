"""The rules: one per torch op, in tables by subject."""

from __future__ import annotations

from collections.abc import Mapping

from swath.frontends.rules import (
    activation,
    attention,
    convolution,
    create,
    einsum,
    elementwise,
    indexing,
    inplace,
    linear,
    lookup,
    norm,
    order,
    recurrent,
    reduce,
    views,
)  # fmt: skip
from swath.frontends.rules.base import Rule

RULES: Mapping[str, Rule] = {
    **elementwise.RULES,
    **activation.RULES,
    **views.RULES,
    **reduce.RULES,
    **order.RULES,
    **create.RULES,
    **lookup.RULES,
    **recurrent.RULES,
    **linear.RULES,
    **einsum.RULES,
    **norm.RULES,
    **attention.RULES,
    **convolution.RULES,
    **indexing.RULES,
    **inplace.RULES,
}
"""What each op becomes, by its full name (`aten.add.Tensor`)."""
