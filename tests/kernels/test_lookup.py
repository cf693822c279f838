"""Embedding rows and bags."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.built import Kernels

pytestmark = pytest.mark.xdist_group("kernels")  # one worker builds them, once

WIDTHS = [1, 4, 8, 10, 16, 20, 64, 150]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("padding", [-1, 3])
def test_bags(builds: list[Kernels], width: int, padding: int) -> None:
    random = np.random.default_rng(width)
    table = random.standard_normal((20, width), np.float32)
    for count in (0, 1, 2, 5, 12, 13, 40):
        ids = random.integers(0, 20, count, np.int64)
        weights = random.standard_normal(count, np.float32)
        kept = ids != padding
        rows = table[ids[kept]].astype(np.float64)
        zeros = np.zeros(width)
        expected = np.stack(
            [
                rows.sum(0),
                rows.mean(0) if len(rows) else zeros,
                rows.max(0) if len(rows) else zeros,
                weights[kept].astype(np.float64) @ rows,
                table[ids[0]] if count else np.full(width, -7.0),
            ]
        )
        for build in builds:
            out = np.full((6, width), -7, np.float32)
            build.call(f"bags_{width}", table, ids, weights, count, padding, out)
            assert np.allclose(out[:5], expected, rtol=0, atol=1e-5), build.name
            assert np.array_equal(out[2], expected[2])
            assert (out[5] == -7).all()


def test_max_keeps_nan(builds: list[Kernels]) -> None:
    table = np.zeros((3, 16), np.float32)
    table[1, 4] = np.nan
    for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
        for build in builds:
            out = np.empty((6, 16), np.float32)
            build.call("bags_16", table, np.array(order), np.ones(3, np.float32), 3, -1, out)
            assert np.isnan(out[2, 4])
            assert np.isfinite(np.delete(out[2], 4)).all()
