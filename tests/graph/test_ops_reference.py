"""The NumPy references agree with eager PyTorch, in single and in double precision."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.op_cases import CASES, Array, Case, Draw
from swath.graph.ops import OP_TYPES, Cast, Fill, Iota

TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-12}
SEEDS = st.integers(0, 2**32 - 1)


def eager(case: Case, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
    result: Any = case.eager(*(torch.asarray(array.copy()) for array in inputs))
    outputs = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
    return tuple(output.numpy() for output in outputs)


def compare(case: Case, inputs: tuple[Array, ...]) -> None:
    expected = eager(case, inputs)
    actual = case.op.reference(inputs)
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        tolerance = TOLERANCE.get(ours.dtype, 0)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def doubled(case: Case) -> tuple[Array, ...]:
    return tuple(
        array.astype(np.float64) if array.dtype == np.float32 else array for array in case.inputs
    )


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_agrees_with_eager(name: str, seed: int) -> None:
    case = CASES[name](Draw(seed))
    compare(case, case.inputs)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS)
def test_keeps_double_precision(name: str, seed: int) -> None:
    case = CASES[name](Draw(seed))
    # These say their type themselves.
    if not isinstance(case.op, Cast | Fill | Iota):
        compare(case, doubled(case))


def test_every_op_has_a_case() -> None:
    assert {type(make(Draw(0)).op) for make in CASES.values()} == set(OP_TYPES)


@pytest.mark.parametrize("name", CASES)
def test_inputs_stay_as_they_are(name: str) -> None:
    case = CASES[name](Draw(1))
    before = [array.copy() for array in case.inputs]
    case.op.reference(case.inputs)
    for array, copy in zip(case.inputs, before, strict=True):
        np.testing.assert_array_equal(array, copy)
