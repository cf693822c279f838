"""Matrix products: every tail, against float64; a row's bits depend on nothing but the row."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.built import Floats, Kernels

pytestmark = pytest.mark.xdist_group("kernels")  # one worker builds them, once

ROWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 24, 31, 48, 61]
COLUMNS = [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 130]
DEPTHS = [0, 1, 2, 15, 16, 17, 33]


def pack(weights: Floats) -> Floats:
    """[K, N] to [ceil(N / 16)][K][16], zeros in the last panel; then 64 bytes of padding."""
    depth, columns = weights.shape
    panels = -(-columns // 16)
    padded = np.zeros((depth, panels * 16), np.float32)
    padded[:, :columns] = weights
    packed = padded.reshape(depth, panels, 16).swapaxes(0, 1)
    return np.append(packed.ravel(), np.full(16, np.nan, np.float32))


def numbers(*shape: int, seed: int = 0) -> Floats:
    """Random numbers of mixed sizes."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def close(result: Floats, a: Floats, b: Floats, bias: Any = 0.0) -> bool:
    """Within the bound of a float32 sum in any order."""
    wide, size = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    bound = (a.shape[-1] + 1) * 2.0**-24 * (size + np.abs(bias)) + 1e-30
    return bool(np.all(np.abs(result - (wide + bias)) <= bound))


class Linear:
    """One layer, run through any build in any way."""

    def __init__(self, columns: int, depth: int) -> None:
        self.weights = numbers(depth, columns, seed=1)
        self.bias = numbers(-(-columns // 16) * 16, seed=2)
        self.packed = pack(self.weights)
        self.columns, self.depth = columns, depth

    def run(self, build: Kernels, a: Floats, kind: int = 0, biased: bool = True) -> Floats:
        """C of [M, N + 3], whose last three columns stay as they were: -7."""
        rows, stride = a.shape
        c = np.full((rows, self.columns + 3), -7, np.float32)
        build.call(
            "linear",
            kind,
            rows,
            self.columns,
            self.depth,
            a,
            stride,
            1,
            self.packed,
            self.bias if biased else None,
            c,
            self.columns + 3,
        )
        assert (c[:, self.columns :] == -7).all()
        return c[:, : self.columns]


@pytest.mark.parametrize("columns", COLUMNS)
def test_every_tail(builds: list[Kernels], columns: int) -> None:
    for rows, depth in product(ROWS, DEPTHS):
        layer, a = Linear(columns, depth), numbers(rows, depth + 2)
        first = layer.run(builds[0], a)
        assert close(first, a[:, :depth], layer.weights, layer.bias[:columns]), (rows, depth)
        for build in builds[1:]:
            assert np.array_equal(layer.run(build, a), first), (build.name, rows, depth)


@pytest.mark.parametrize("columns", [1, 16, 40, 80, 256])
def test_a_row_alone_gives_the_same_bits(builds: list[Kernels], columns: int) -> None:
    layer, a = Linear(columns, 53), numbers(61, 53)
    for build in builds:
        alone = np.concatenate([layer.run(build, a[m : m + 1]) for m in range(61)])
        for rows in ROWS:
            for begin in (0, 61 - rows):
                part = layer.run(build, np.ascontiguousarray(a[begin : begin + rows]))
                assert np.array_equal(part, alone[begin : begin + rows]), (build.name, rows)


@given(st.integers(0, 70), st.integers(1, 200), st.integers(0, 90), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_shape(
    builds: list[Kernels], rows: int, columns: int, depth: int, biased: bool
) -> None:
    layer, a = Linear(columns, depth), numbers(rows, depth + 1)
    first = layer.run(builds[0], a, biased=biased)
    assert close(first, a[:, :depth], layer.weights, layer.bias[:columns] if biased else 0.0)
    for build in builds[1:]:
        assert np.array_equal(layer.run(build, a, biased=biased), first), build.name


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (3, 64), (7, 33), (13, 16), (30, 50)])
def test_sinks(builds: list[Kernels], rows: int, columns: int) -> None:
    layer, a = Linear(columns, 21), numbers(rows, 21)
    a[0, 0] = np.nan
    for build in builds:
        plain = layer.run(build, a)
        relu = layer.run(build, a, kind=1)
        assert np.array_equal(relu, np.maximum(plain, 0), equal_nan=True)
        places = np.add.outer(np.arange(rows), np.arange(columns)).astype(np.float32)
        functor = layer.run(build, a, kind=2)
        assert np.allclose(functor, plain * 2 + places, rtol=1e-6, atol=1e-6, equal_nan=True)
        turned = np.full((columns, rows + 1), -7, np.float32)
        build.call(
            "linear", 3, rows, columns, 21, a, 21, 1, layer.packed, layer.bias, turned, rows + 1
        )
        assert np.array_equal(turned[:, :rows], plain.T, equal_nan=True)
        assert (turned[:, rows] == -7).all()


@pytest.mark.parametrize("columns", [1, 8, 13, 16, 26, 40])
def test_two_activations(builds: list[Kernels], columns: int) -> None:
    for rows, depth in product([1, 4, 7, 12, 26], [1, 16, 19]):
        a, b = numbers(rows, depth), numbers(depth, columns, seed=3)
        turned, results = np.ascontiguousarray(a.T), list[Floats]()
        for build in builds:
            for left, row_stride, k_stride in ((a, depth, 1), (turned, 1, rows)):
                c = np.empty((rows, columns), np.float32)
                build.call(
                    "multiply",
                    rows,
                    columns,
                    depth,
                    left,
                    row_stride,
                    k_stride,
                    b,
                    columns,
                    c,
                    columns,
                    0,
                )
                results.append(c)
        assert close(results[0], a, b)
        assert all(np.array_equal(c, results[0]) for c in results)


def test_a_sum_goes_on_where_it_stopped(builds: list[Kernels]) -> None:
    a, b = numbers(9, 40), numbers(40, 21, seed=3)
    for build in builds:
        whole, parts = (np.empty((9, 21), np.float32) for _ in range(2))
        build.call("multiply", 9, 21, 40, a, 40, 1, b, 21, whole, 21, 0)
        for begin, end in ((0, 11), (11, 40)):
            left, right = (np.ascontiguousarray(x) for x in (a[:, begin:end], b[begin:end]))
            build.call(
                "multiply",
                9,
                21,
                end - begin,
                left,
                end - begin,
                1,
                right,
                21,
                parts,
                21,
                int(begin > 0),
            )
        assert np.array_equal(whole, parts)


@pytest.mark.parametrize("keys", [1, 7, 8, 16, 17, 26, 50])
def test_scores(builds: list[Kernels], keys: int) -> None:
    for queries, depth in product([1, 5, 26], [1, 8, 15, 16, 17, 32]):
        q, k, results = numbers(queries, depth), numbers(keys, depth, seed=4), list[Floats]()
        for build in builds:
            scratch = np.full(-(-keys // 16) * 16 * depth, np.nan, np.float32)
            c = np.empty((queries, keys), np.float32)
            build.call("scores", queries, keys, depth, q, k, scratch, c)
            results.append(c)
        assert close(results[0], q, k.T)
        assert all(np.array_equal(c, results[0]) for c in results)


@pytest.mark.parametrize("width", [1, 4, 8, 10, 16, 20, 64])
def test_a_constant_from_the_left(builds: list[Kernels], width: int) -> None:
    for batch, outputs, depth in product([1, 2, 5], [1, 6, 13], [1, 30]):
        w, z = numbers(outputs, depth), numbers(batch, depth, width, seed=5)
        results: list[npt.NDArray[np.float32]] = []
        for build in builds:
            scratch = np.full(-(-batch * width // 16) * 16 * depth, np.nan, np.float32)
            c = np.full((batch + 1, outputs, width), -7, np.float32)
            build.call(f"left_{width}", batch, outputs, depth, w, z, scratch, c)
            assert (c[batch] == -7).all()
            results.append(c[:batch])
        assert close(results[0], w, z)
        assert all(np.array_equal(c, results[0]) for c in results)
