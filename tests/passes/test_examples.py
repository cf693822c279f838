"""The before and after texts in the docstrings of passes and rules run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.passes.examples import check_example, examples

from swath.graph.ir import Graph
from swath.passes.pipeline import PIPELINE
from swath.passes.rewriter import Rule, rewrite
from swath.passes.rules import SIMPLIFY_RULES

PASSES = tuple(dict.fromkeys(PIPELINE))


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.__name__)
def test_pass(step: Callable[[Graph], Graph]) -> None:
    """Every pass has an example at least."""
    found = list(examples(step))
    assert found, f"the docstring of {step.__name__} has no before and after"
    for example in found:
        check_example(example, step)


@pytest.mark.parametrize("rule", SIMPLIFY_RULES, ids=lambda rule: rule.__name__)
def test_rule(rule: Rule) -> None:
    """Every rule of `simplify` has an example that it alone brings about."""
    found = list(examples(rule))
    assert found, f"the docstring of {rule} has no before and after"
    for example in found:
        check_example(example, partial(rewrite, rules=(rule,)))
