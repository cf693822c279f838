"""Small models of the kinds that people rank with, each against eager PyTorch.

To add one: a line in the table of one of the `*_models.py` files.
"""

from __future__ import annotations

import pytest

import swath
from tests.end_to_end.eager import Case, check
from tests.end_to_end.interaction_models import INTERACTIONS
from tests.end_to_end.lookup_models import LOOKUPS
from tests.end_to_end.number_models import NUMBERS

CASES: dict[str, Case] = {**INTERACTIONS, **LOOKUPS, **NUMBERS}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name: str) -> None:
    check(CASES[name], swath.Options(targets=("x86-64-v3",)))
