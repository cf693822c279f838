"""What a rule is, and the tables that name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swath.graph.ir import Value

Result = Value | Sequence[Value | None]
Rule = Callable[..., Any]


def aliases(rule: Rule, *names: str) -> dict[str, Rule]:
    """A table that gives the ops `aten.<name>` one rule."""
    return {f"aten.{name}": rule for name in names}
