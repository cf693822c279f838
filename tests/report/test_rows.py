"""Picking and drawing rows of flat inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from swath.artifact.manifest import (
    InputSpec,
    Leaf,
    LookupSpec,
    Manifest,
    TableSpec,
    WeightsSpec,
)
from swath.errors import SwathError
from swath.report.rows import draw_rows, read_rows, row_count, take_rows
from swath.report.synthetic import synthetic_inputs


def manifest(*inputs: InputSpec, lookups: tuple[LookupSpec, ...] = ()) -> Manifest:
    """As much of a manifest as rows need."""
    tables = tuple(
        TableSpec(name=entry.table, file="", dtype="float32", rows=entry.rows, width=1)
        for entry in lookups
    )
    return Manifest(
        swath_version="", name="", model={}, options={}, inputs=inputs, outputs=(), parameters=(),
        result=Leaf(0), lookups=lookups, libraries=(), tables=tables,
        weights=WeightsSpec(file="", data_offset=64, size=0), thread_min_rows=0, rows_per_swath=1,
        tolerance={}, files=(),
    )  # fmt: skip


IDS = InputSpec(name="ids", dtype="int64", row_shape=(1,))
MATRIX = InputSpec(name="matrix", dtype="float32", row_shape=(1, 3))
SCALE = InputSpec(name="scale", dtype="float32", row_shape=(2,), batch_axis=None, kind="once")
# Rows of this one lie as [2, B, 3] along axis 1.
LAYERED = InputSpec(name="layered", dtype="float32", row_shape=(2, 6), batch_axis=1, post=3)


def bag(include_last: bool) -> tuple[InputSpec, InputSpec, InputSpec]:
    """Values and weights that one column of offsets cuts."""
    return (
        InputSpec(name="values", dtype="int64", row_shape=(1,), batch_axis=None, kind="ragged",
                  offsets="offsets"),
        InputSpec(name="weights", dtype="float32", row_shape=(1,), batch_axis=None, kind="ragged",
                  offsets="offsets"),
        InputSpec(name="offsets", dtype="int32", row_shape=(1,), kind="offsets",
                  include_last_offset=include_last),
    )  # fmt: skip


def test_rows_of_plain_inputs() -> None:
    arrays: list[Any] = [np.arange(4), np.arange(12.0).reshape(4, 3), np.array([7.0, 8.0])]
    specs = (IDS, MATRIX, SCALE)
    assert row_count(specs, arrays) == 4
    ids, matrix, scale = take_rows(specs, arrays, np.array([3, 0, 3]))
    assert ids.tolist() == [3, 0, 3]
    assert matrix[:, 0].tolist() == [9, 0, 9]
    assert scale.tolist() == [7, 8]


def test_rows_that_lie_inside_of_an_axis() -> None:
    array = np.arange(2 * 2 * 4 * 3).reshape(2, 2 * 4 * 3)
    assert row_count([LAYERED], [array]) == 4
    (taken,) = take_rows([LAYERED], [array], np.array([2, 1]))
    expected = array.reshape(2, 2, 4, 3)[:, :, [2, 1]].reshape(2, -1)
    assert np.array_equal(taken, expected)


@pytest.mark.parametrize("include_last", [False, True])
def test_rows_of_bags(include_last: bool) -> None:
    offsets = np.array([0, 2, 2, 5], np.int32) if include_last else np.array([0, 2, 2], np.int32)
    arrays: list[Any] = [np.arange(5), np.arange(5) / 2, offsets]
    specs = bag(include_last)
    assert row_count(specs, arrays) == 3
    values, weights, cuts = take_rows(specs, arrays, np.array([2, 1, 0]))
    assert values.tolist() == [2, 3, 4, 0, 1]
    assert np.array_equal(weights, values / 2)
    assert cuts.tolist() == ([0, 3, 3, 5] if include_last else [0, 3, 3])
    assert cuts.dtype == np.int32


def test_drawn_rows_hold_values_of_their_column_only() -> None:
    described = manifest(IDS, MATRIX, SCALE, LAYERED)
    columns = np.arange(4)[:, None] * 10.0 + np.arange(3)
    example: list[Any] = [
        np.array([5, 6, 7, 8]), columns, np.ones(2), np.arange(48.0).reshape(2, 24)
    ]  # fmt: skip
    drawn = draw_rows(described, example, 200, 0)
    assert row_count(described.inputs, drawn) == 200
    assert set(drawn[0]) == {5, 6, 7, 8}
    for column in range(3):
        assert set(drawn[1][:, column]) == set(columns[:, column])
    combinations = {tuple(row) for row in drawn[1].tolist()}
    assert len(combinations) > 30  # of 64 possible ones; the example has 4
    assert [a.dtype for a in drawn] == [a.dtype for a in example]
    again = draw_rows(described, example, 200, 0)
    assert all(np.array_equal(a, b) for a, b in zip(drawn, again, strict=True))


def test_nothing_is_drawn_from_nothing() -> None:
    with pytest.raises(SwathError, match="SW407"):
        draw_rows(manifest(IDS), [np.zeros(0, np.int64)], 5, 0)
    (empty,) = draw_rows(manifest(IDS), [np.zeros(0, np.int64)], 0, 0)
    assert empty.shape == (0,)


@pytest.mark.parametrize("rows", [0, 1, 50])
@pytest.mark.parametrize("include_last", [False, True])
def test_synthetic_inputs_are_legal(rows: int, include_last: bool) -> None:
    lookups = (
        LookupSpec(input="ids", column=0, table="a", rows=3),
        LookupSpec(input="matrix", column=1, table="b", rows=5),
        LookupSpec(input="matrix", column=1, table="c", rows=4),
        LookupSpec(input="values", column=None, table="d", rows=2),
    )
    described = manifest(IDS, MATRIX, SCALE, LAYERED, *bag(include_last), lookups=lookups)
    arrays = synthetic_inputs(described, rows, 0)
    by_name = dict(zip((spec.name for spec in described.inputs), arrays, strict=True))
    for spec, array in zip(described.inputs, arrays, strict=True):
        assert array.dtype.name == spec.dtype
        assert array.ndim == len(spec.row_shape)
    assert row_count([IDS], [by_name["ids"]]) == row_count([LAYERED], [by_name["layered"]]) == rows
    assert set(by_name["ids"]) <= {0, 1, 2}
    assert set(by_name["matrix"][:, 1]) <= {0, 1, 2, 3}
    assert set(by_name["values"]) <= {0, 1}
    offsets = by_name["offsets"]
    assert len(offsets) == rows + include_last
    assert np.all(np.diff(offsets) >= 0)
    assert len(by_name["values"]) == len(by_name["weights"])
    if include_last:
        assert offsets[-1] == len(by_name["values"])


def test_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, matrix=np.zeros((2, 3), np.float32), ids=np.arange(2))
    ids, matrix = read_rows(manifest(IDS, MATRIX), path)
    assert ids.tolist() == [0, 1]
    assert matrix.shape == (2, 3)
    for other in (IDS, msgspec.structs.replace(MATRIX, row_shape=(1, 3, 1))):
        with pytest.raises(SwathError, match="SW407"):
            read_rows(manifest(other), path)
    path.write_bytes(b"no zip")
    with pytest.raises(SwathError, match="can't be read"):
        read_rows(manifest(IDS, MATRIX), path)
    with pytest.raises(SwathError, match="can't be read"):
        read_rows(manifest(IDS, MATRIX), tmp_path / "none.npz")
