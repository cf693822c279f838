"""Elementary functions against float64: error bounds, special values, the same bits everywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.bounds import FUNCTIONS, POWER_ULP, SMALLEST_NORMAL, Function, errors
from tests.kernels.built import Floats, Kernels

pytestmark = pytest.mark.xdist_group("kernels")  # one worker builds them, once

EDGES = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e-45, -1e-45,
     1.1754942e-38, 1.1754944e-38, -1.1754944e-38, 3.4028235e38, -3.4028235e38,
     88.72283, 88.722839, 88.73, -87.33655, -103.97208, -104, 1e10, 16777217.0],
    np.float32,
)  # fmt: skip


@np.errstate(all="ignore")
def _inputs() -> Floats:
    """The edges and their neighbours, all magnitudes, and the range that models live in."""
    random = np.random.default_rng(20)
    bits = random.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    near = random.uniform(-20, 20, 100_000).astype(np.float32)
    beside = np.concatenate([np.nextafter(EDGES, np.float32(s)) for s in (-np.inf, np.inf)])
    return np.concatenate([EDGES, beside, bits, near])


def _bits(x: Floats) -> npt.NDArray[np.uint32]:
    """Bits for comparison; every NaN alike."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


@np.errstate(all="ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_its_bound(builds: list[Kernels], name: str) -> None:
    function: Function = FUNCTIONS[name]
    x = _inputs()
    result = builds[0].unary(name, x)
    exact = function.reference(x.astype(np.float64))
    error = errors(result, exact)
    normal = (np.abs(exact) >= SMALLEST_NORMAL) & (x >= function.lowest)
    normal |= ~np.isfinite(exact) & ~((name in ("silu", "gelu", "gelu_tanh")) & (x < 0))
    worst = int(np.argmax(np.where(normal, error, 0)))
    assert error[worst] <= function.ulp, f"{name}({x[worst]!r}) = {result[worst]!r}"
    # Everything else is tiny or zero; nothing there is off by more than a few smallest numbers.
    tiny = ~normal & np.isfinite(exact)
    assert np.all(np.abs(result[tiny] - exact[tiny]) <= 64 * 2.0**-149)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_depend_on_neither_lane_nor_build(builds: list[Kernels], name: str) -> None:
    x = _inputs()[:40_003]
    expected = _bits(builds[0].unary(name, x))
    for build in builds:
        assert np.array_equal(_bits(build.unary(name, x)), expected), build.name
    shifted = builds[-1].unary(name, np.ascontiguousarray(x[5:]))
    assert np.array_equal(_bits(shifted), expected[5:])


def test_limits_are_exact(builds: list[Kernels]) -> None:
    infinite = np.array([-np.inf, np.inf, -0.0, 0.0], np.float32)
    expected = {
        "exp": [0, np.inf, 1, 1],
        "expm1": [-1, np.inf, -0.0, 0],
        "sigmoid": [0, 1, 0.5, 0.5],
        "tanh": [-1, 1, -0.0, 0],
        "erf": [-1, 1, -0.0, 0],
        "softplus": [0, np.inf, np.float32(np.log(2)), np.float32(np.log(2))],
        "log": [np.nan, np.inf, -np.inf, -np.inf],
        "log1p": [np.nan, np.inf, -0.0, 0],
        "silu": [np.nan, np.inf, -0.0, 0],
        "gelu": [np.nan, np.inf, -0.0, 0],
        "sin": [np.nan, np.nan, -0.0, 0],
        "rsqrt": [np.nan, 0, -np.inf, np.inf],
    }
    for name, values in expected.items():
        result = builds[0].unary(name, infinite)
        assert np.array_equal(_bits(result), _bits(np.array(values, np.float32))), name


def test_nan_gives_nan(builds: list[Kernels]) -> None:
    nan = np.full(16, np.nan, np.float32)
    for name in FUNCTIONS:
        assert np.isnan(builds[0].unary(name, nan)).all(), name


@np.errstate(all="ignore")
def test_pow(builds: list[Kernels]) -> None:
    random = np.random.default_rng(21)
    count = 100_000
    grid = [a.ravel() for a in np.meshgrid(EDGES, EDGES)]
    x = np.concatenate(
        [
            grid[0],
            random.uniform(0.9, 1.1, count),
            np.exp(random.uniform(-20, 20, count)),
            -random.integers(1, 50, count),
        ]
    ).astype(np.float32)
    y = np.concatenate(
        [
            grid[1],
            random.uniform(-1200, 1200, count),
            random.uniform(-8, 8, count),
            random.integers(-30, 30, count),
        ]
    ).astype(np.float32)
    exact = np.power(x.astype(np.float64), y.astype(np.float64))
    result = builds[0].binary("pow", x, y)
    error = errors(result, exact)
    worst = int(np.argmax(error))
    assert error[worst] <= POWER_ULP, f"pow({x[worst]!r}, {y[worst]!r}) = {result[worst]!r}"
    signed = ~np.isnan(result)
    assert np.array_equal(np.signbit(result[signed]), np.signbit(exact[signed]))
    for build in builds:
        assert np.array_equal(_bits(build.binary("pow", x, y)), _bits(result)), build.name
