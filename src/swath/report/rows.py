"""Rows of flat inputs: how many there are, picking some, drawing random ones.

Inputs are arrays in the order of a manifest's `InputSpec`s, which say where the rows lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swath.artifact.manifest import InputSpec, Manifest, OutputSpec
from swath.errors import Problem, SwathError, Where

Array = NDArray[Any]
Indices = NDArray[np.int64]


def row_count(specs: Sequence[InputSpec], arrays: Sequence[Array]) -> int:
    """The rows of a call; 0 where no input has any."""
    for spec, array in zip(specs, arrays, strict=True):
        if spec.kind == "offsets":
            return len(array) - (1 if spec.include_last_offset else 0)
        if spec.kind == "rows" and spec.batch_axis is not None:
            return array.shape[spec.batch_axis] // spec.rows_multiple
    return 0


def take_rows(specs: Sequence[InputSpec], arrays: Sequence[Array], rows: Indices) -> list[Array]:
    """The inputs of a call with these rows, in this order; a row may come several times."""
    by_name = {spec.name: (spec, array) for spec, array in zip(specs, arrays, strict=True)}
    taken: list[Array] = []
    for spec, array in zip(specs, arrays, strict=True):
        if spec.kind == "ragged" and spec.offsets is not None:
            begins, ends = _bounds(*by_name[spec.offsets], len(array))
            taken.append(array[_members(begins[rows], ends[rows])])
        elif spec.kind == "offsets":
            values = next(by_name[s.name][1] for s in specs if s.offsets == spec.name)
            begins, ends = _bounds(spec, array, len(values))
            taken.append(_offsets(ends[rows] - begins[rows], spec).astype(array.dtype))
        elif spec.kind == "rows":
            taken.append(take_along(array, spec, rows))
        else:
            taken.append(array)
    return taken


def take_along(array: Array, spec: InputSpec | OutputSpec, rows: Indices) -> Array:
    """These rows of one array whose rows lie as [pre, rows, post] along its batch axis."""
    axis = spec.batch_axis
    if axis is None:
        return array
    multiple = spec.row_shape[axis]
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    count = array.shape[axis] // multiple
    split = array.reshape(*before, multiple // spec.post, count, spec.post, *after)
    part = np.take(split, rows, axis=axis + 1)
    return np.ascontiguousarray(part.reshape(*before, multiple * len(rows), *after))


def _bounds(spec: InputSpec, offsets: Array, count: int) -> tuple[Indices, Indices]:
    """Where the bag of each row begins and ends."""
    bounds = offsets.astype(np.int64)
    if not spec.include_last_offset:
        bounds = np.append(bounds, count)
    return bounds[:-1], bounds[1:]


def _members(begins: Indices, ends: Indices) -> Indices:
    pairs = zip(begins.tolist(), ends.tolist(), strict=True)
    return np.asarray([place for pair in pairs for place in range(*pair)], dtype=np.int64)


def _offsets(lengths: Indices, spec: InputSpec) -> Indices:
    ends = np.cumsum(lengths)
    return np.concatenate([[0], ends]) if spec.include_last_offset else ends - lengths


def draw_rows(manifest: Manifest, example: Sequence[Array], count: int, seed: int) -> list[Array]:
    """Random rows made of the rows of an example.

    Each row is a row of the example in which every input, and every element of an input [B, n],
    comes from another row with probability 1/2: the values of each column stay what they can be
    (ids within their table), their combinations are new. Raises SwathError SW407.
    """
    specs = manifest.inputs
    known = row_count(specs, example)
    if count and not known:
        raise SwathError(
            Problem(
                "SW407",
                "the example inputs have no rows",
                "rows are drawn from them",
                "give example inputs with at least one row",
            )
        )
    random = np.random.default_rng(seed)
    rows = random.integers(0, max(known, 1), count)
    drawn = take_rows(specs, example, rows)
    other = take_rows(specs, example, random.integers(0, max(known, 1), count))
    cut = {spec.offsets for spec in specs} | {spec.name for spec in specs if spec.kind != "rows"}
    for index, spec in enumerate(specs):
        if spec.name in cut or spec.batch_axis != 0 or spec.rows_multiple != 1:
            continue
        if example[index].ndim == 2:
            other[index] = _shuffled_columns(example[index], count, random)
            chosen = random.random(drawn[index].shape) < 0.5
        else:
            chosen = random.random((count, *[1] * (drawn[index].ndim - 1))) < 0.5
        drawn[index] = np.where(chosen, drawn[index], other[index])
    return drawn


def _shuffled_columns(array: Array, count: int, random: np.random.Generator) -> Array:
    rows = random.integers(0, len(array), (count, array.shape[1]))
    return np.take_along_axis(array, rows, axis=0)


def read_rows(manifest: Manifest, path: Path) -> list[Array]:
    """The inputs in an .npz file, by name. Raises SwathError SW407."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise _unfit(path, f"it can't be read: {error}") from error
    names = [spec.name for spec in manifest.inputs]
    if sorted(arrays) != sorted(names):
        raise _unfit(path, f"it holds {', '.join(arrays)}; the model takes {', '.join(names)}")
    for spec in manifest.inputs:
        if arrays[spec.name].dtype.name != spec.dtype:
            found = arrays[spec.name].dtype.name
            raise _unfit(path, f"{spec.name!r} is {found}; the model takes {spec.dtype}")
        if arrays[spec.name].ndim != len(spec.row_shape):
            raise _unfit(
                path,
                f"{spec.name!r} has {arrays[spec.name].ndim} axes; the model takes "
                f"{len(spec.row_shape)}",
            )
    return [arrays[name] for name in names]


def _unfit(path: Path, why: str) -> SwathError:
    fix = "write it with np.savez(path, **{name: array}), all arrays for the same rows"
    return SwathError(
        Problem("SW407", "the file of inputs doesn't fit the model", why, fix, Where(str(path)))
    )
