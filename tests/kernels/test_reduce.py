"""Sums, dots and extremes of a run of floats; the same bits in every build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.built import Floats, Kernels

pytestmark = pytest.mark.xdist_group("kernels")  # one worker builds them, once

LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 65, 100, 128, 129, 200]
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "reduce_sum": np.sum,
    "reduce_squares": lambda x: np.sum(x * x),
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_mean": np.mean,
    "reduce_variance": np.var,
}


def _numbers(*shape: int) -> Floats:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(builds: list[Kernels], name: str, length: int) -> None:
    x = _numbers(length)
    results = [build.number(name, x, length) for build in builds]
    exact = REDUCTIONS[name](x.astype(np.float64))
    assert abs(results[0] - exact) <= 1e-6 * (1 + np.abs(x).sum())
    assert len(set(results)) == 1
    x[length // 2] = np.nan
    assert all(np.isnan(build.number(name, x, length)) for build in builds)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 15, 16, 17, 33])
def test_dots_are_dot_row_by_row(builds: list[Kernels], rows: int) -> None:
    for length in LENGTHS:
        a, b = _numbers(rows, length + 1), _numbers(length)
        expected = [builds[0].number("dot_of", a[m], b, length) for m in range(rows)]
        exact = a[:, :length].astype(np.float64) @ b
        assert np.allclose(expected, exact, rtol=0, atol=1e-6 * (1 + length))
        for build in builds:
            out = np.full(rows + 1, -7, np.float32)
            build.call("dots_of", rows, length, a, length + 1, b, out)
            assert np.array_equal(out, np.array([*expected, -7], np.float32)), build.name
