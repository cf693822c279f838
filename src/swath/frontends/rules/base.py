"""What a rule is, and the tables that name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
"""See context.py for what a rule takes and gives."""


def aliases(rule: Rule, *names: str) -> dict[str, Rule]:
    """A table that gives the ops `aten.<name>` one rule."""
    return {f"aten.{name}": rule for name in names}
