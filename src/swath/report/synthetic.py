"""Inputs for an artefact whose model isn't at hand, made from its manifest alone.

Ids are uniform over their table, other floats normal, other integers 0 or 1, bags hold 0 to 8
values. That is enough to time a program and to see that it runs; it says nothing about scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swath.artifact.manifest import InputSpec, Manifest

Array = NDArray[Any]
LONGEST_BAG = 8


def synthetic_inputs(manifest: Manifest, rows: int, seed: int) -> list[Array]:
    """The inputs of a call of that many rows, in the order of the manifest."""
    random = np.random.default_rng(seed)
    lengths = {
        spec.name: random.integers(0, LONGEST_BAG + 1, rows)
        for spec in manifest.inputs
        if spec.kind == "offsets"
    }
    return [_input(manifest, spec, rows, lengths, random) for spec in manifest.inputs]


def _input(
    manifest: Manifest,
    spec: InputSpec,
    rows: int,
    lengths: dict[str, NDArray[np.int64]],
    random: np.random.Generator,
) -> Array:
    if spec.kind == "offsets":
        ends = np.cumsum(lengths[spec.name])
        first = np.zeros(1, np.int64)
        offsets = (
            np.concatenate([first, ends]) if spec.include_last_offset else ends - lengths[spec.name]
        )
        return offsets.astype(spec.dtype)
    if spec.kind == "ragged":
        count = int(lengths[spec.offsets or ""].sum())
        return _values(manifest, spec, count, 1, random).reshape(count)
    elements = int(np.prod(spec.row_shape))
    if spec.kind == "once" or spec.batch_axis is None:
        return _values(manifest, spec, 1, elements, random).reshape(spec.row_shape)
    return _placed(_values(manifest, spec, rows, elements, random), spec, rows)


def _values(
    manifest: Manifest, spec: InputSpec, rows: int, elements: int, random: np.random.Generator
) -> Array:
    """[rows, elements], each column within the smallest table that it is looked up in."""
    shape = (rows, elements)
    values: Array = (
        random.standard_normal(shape)
        if spec.dtype.startswith(("float", "bfloat"))
        else random.integers(0, 2, shape)
    ).astype(spec.dtype)
    for lookup in manifest.lookups:
        if lookup.input == spec.name and lookup.column is None:
            values[:] = random.integers(0, _fewest(manifest, spec, None), shape)
    for lookup in manifest.lookups:
        if lookup.input == spec.name and lookup.column is not None:
            ids = random.integers(0, _fewest(manifest, spec, lookup.column), rows)
            values[:, lookup.column] = ids
    return values


def _fewest(manifest: Manifest, spec: InputSpec, column: int | None) -> int:
    return min(
        max(1, lookup.rows)
        for lookup in manifest.lookups
        if lookup.input == spec.name and lookup.column == column
    )


def _placed(values: Array, spec: InputSpec, rows: int) -> Array:
    """Rows [rows, elements] laid out as [.., pre, rows, post, ..] along the batch axis."""
    axis = spec.batch_axis or 0
    before, multiple, after = (
        spec.row_shape[:axis],
        spec.row_shape[axis],
        spec.row_shape[axis + 1 :],
    )
    split = values.reshape(rows, *before, multiple // spec.post, spec.post, *after)
    moved = np.moveaxis(split, 0, axis + 1)
    return np.ascontiguousarray(moved.reshape(*before, multiple * rows, *after))
