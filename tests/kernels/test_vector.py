"""Vectors: memory, comparisons, rounding, integers, lanes; the tails of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.built import Floats, Kernels

pytestmark = pytest.mark.xdist_group("kernels")  # one worker builds them, once

SPECIAL = np.array(
    [0.0, -0.0, 1.5, -1.5, 2.5, -2.5, 0.5, -0.5, 1e10, -1e10, 3e9, -3e9, 8388609.0, np.inf,
     -np.inf, np.nan, 1e-45, -1e-45, 3.4028235e38],
    np.float32,
)  # fmt: skip
UNARY: dict[str, Callable[[Floats], Any]] = {
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "abs": np.abs,
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "relu": lambda x: np.maximum(x, 0),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "is_nan": np.isnan,
    "to_int": lambda x: np.where(np.abs(x) < 2.0**31, np.trunc(x), -(2.0**31)),
}
BINARY: dict[str, Callable[[Floats, Floats], Any]] = {
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "copy_sign": np.copysign,
    "neither": lambda a, b: np.where((a == b) | (np.isnan(a) & ~np.isnan(b)), a, b),
}


def _same(result: Floats, expected: Any) -> bool:
    return np.array_equal(result, np.asarray(expected, np.float32), equal_nan=True)


@np.errstate(all="ignore")
@pytest.mark.parametrize("name", UNARY)
def test_unary(builds: list[Kernels], name: str) -> None:
    random = np.random.default_rng(1).normal(0, 100, 37).astype(np.float32)
    x = np.concatenate([SPECIAL, random])
    for build in builds:
        assert _same(build.unary(name, x), UNARY[name](x)), build.name


@pytest.mark.parametrize("name", BINARY)
def test_binary(builds: list[Kernels], name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    for build in builds:
        assert _same(build.binary(name, x, y), BINARY[name](x, y)), build.name


def test_signs_of_zero(builds: list[Kernels]) -> None:
    x = np.array([-0.0, -0.2, -0.5], np.float32)
    for build in builds:
        for name in ("round", "ceil", "trunc"):
            assert np.signbit(build.unary(name, x)).all(), (build.name, name)


def test_clamp(builds: list[Kernels]) -> None:
    for build in builds:
        out = np.empty_like(SPECIAL)
        build.call("clamp_to", out, SPECIAL, -2.0, 2.0, SPECIAL.size)
        assert _same(out, np.clip(SPECIAL, -2, 2))


@pytest.mark.parametrize("count", range(35))
def test_tails_write_nothing_else(builds: list[Kernels], count: int) -> None:
    x = np.arange(1, 36, dtype=np.float32)
    for build in builds:
        out = np.full(40, -1, np.float32)
        build.call("unary_abs", out, x, count)
        assert _same(out[:count], x[:count])
        assert (out[count:] == -1).all()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 15, 16, 17, 33])
def test_strides(builds: list[Kernels], count: int) -> None:
    x = np.arange(200, dtype=np.float32)
    for build in builds:
        out = np.full(100, -1, np.float32)
        build.call("copy_strided", out, 2, x, 5, count)
        assert _same(out[: 2 * count : 2], x[: 5 * count : 5])
        assert (np.delete(out, slice(0, 2 * count, 2)) == -1).all()


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1.9, 1), (-1.9, -1), (2.0**62, 2**62), (2.0**63, -(2**63)), (-(2.0**63), -(2**63)),
     (float("nan"), -(2**63)), (float("inf"), -(2**63)), (float("-inf"), -(2**63))],
)  # fmt: skip
def test_to_int64(builds: list[Kernels], number: float, expected: int) -> None:
    for build in builds:
        assert build.integer("float_to_int64", number) == expected


def test_lanes_fold_in_a_fixed_tree(builds: list[Kernels]) -> None:
    random = np.random.default_rng(2)
    for build in builds:
        count = build.integer("lanes")
        for _ in range(50):
            x = random.normal(0, 1, count).astype(np.float32)
            half = x
            while half.size > 1:
                half = half[: half.size // 2] + half[half.size // 2 :]
            assert build.number("sum_of_lanes", x) == half[0]
            assert build.number("max_of_lanes", x) == x.max()
            assert build.number("min_of_lanes", x) == x.min()
            x[random.integers(count)] = np.nan
            for name in ("sum", "max", "min"):
                assert np.isnan(build.number(f"{name}_of_lanes", x)), (build.name, name)
