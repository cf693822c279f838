"""Arrays of any layout and dtype reach the compiled code, and its rows come back whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import handmade
from swath.artifact.contents import Contents
from swath.artifact.manifest import DType
from swath.artifact.writer import write_artifact
from swath.runtime import Program, load

ROW_ITEMS = 24
SHAPES = ((24,), (1, 24), (24, 1), (4, 6), (2, 3, 4), (3, 1, 8), (2, 2, 3, 2), (1, 1, 24))

COPY = """
    const char* from = (const char*)call->inputs[0] + row * call->input_row_bytes[0];
    char* to = (char*)call->outputs[0] + row * BYTES;
    for (int i = 0; i < BYTES; ++i) to[i] = from[i];
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Contents]:
    """Models that hand their rows through, by the size of an element in bytes."""
    made: dict[int, Contents] = {}
    for item in (1, 2, 4, 8):
        folder = tmp_path_factory.mktemp("copy")
        body = COPY.replace("BYTES", str(ROW_ITEMS * item))
        made[item] = handmade.contents(
            dataclasses.replace(handmade.scale_model(), body=body), folder
        )
    return made


Open = Callable[[str, tuple[int, ...], int, int], Program]


@pytest.fixture(scope="module")
def opened(copies: dict[int, Contents], tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Opens a program that copies rows of a dtype, row shape, batch axis and `post`."""
    folder = tmp_path_factory.mktemp("layouts")
    programs: dict[Any, Program] = {}

    def program(dtype: str, shape: tuple[int, ...], axis: int, post: int) -> Program:
        key = (dtype, shape, axis, post)
        if key not in programs:
            item = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
            contents = copies[item]
            spec = {"dtype": dtype, "row_shape": shape, "batch_axis": axis, "post": post}
            contents = dataclasses.replace(
                contents,
                inputs=[msgspec.structs.replace(contents.inputs[0], **spec)],
                outputs=[msgspec.structs.replace(contents.outputs[0], **spec)],
            )
            path: Path = write_artifact(folder / f"{len(programs)}.swath", contents)
            programs[key] = load(path, threads=2)
        return programs[key]

    return program


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], int, int]:
    """A row shape, a batch axis, and how many of its elements follow each other for one row."""
    shape = draw(st.sampled_from(SHAPES))
    axis = draw(st.integers(0, len(shape) - 1))
    posts = [post for post in range(1, shape[axis] + 1) if shape[axis] % post == 0]
    return shape, axis, draw(st.sampled_from(posts))


def spread(array: NDArray[Any], order: list[int], steps: list[int], reverse: bool) -> NDArray[Any]:
    """The same elements with other strides."""
    permuted = np.transpose(array, order)
    holder = np.zeros(
        [n * step for n, step in zip(permuted.shape, steps, strict=True)], array.dtype
    )
    view = holder[tuple(slice(None, None, step) for step in steps)]
    view[...] = permuted[::-1] if reverse else permuted
    view = view[::-1] if reverse else view
    return np.transpose(view, np.argsort(order))


@settings(max_examples=200, deadline=None)
@given(layout=layouts(), rows=st.sampled_from([0, 1, 2, 5, 70]), data=st.data())
def test_any_layout(
    opened: Open, layout: tuple[tuple[int, ...], int, int], rows: int, data: st.DataObject
) -> None:
    shape, axis, post = layout
    program = opened("float32", shape, axis, post)
    full = [extent * (rows if index == axis else 1) for index, extent in enumerate(shape)]
    x = np.arange(ROW_ITEMS * rows, dtype=np.float32).reshape(full)
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    reverse = data.draw(st.booleans())
    other = spread(x, order, steps, reverse)
    assert np.array_equal(other, x)
    for array in (x, other):
        y = program(array)
        assert y.shape == x.shape
        assert np.array_equal(y, x)
    if not reverse:
        assert np.array_equal(program(torch.as_tensor(other)).numpy(), x)


@pytest.mark.parametrize("dtype", get_args(DType))
def test_any_dtype(opened: Open, dtype: str) -> None:
    program = opened(dtype, (24,), 0, 24)
    values = np.arange(24 * 3) % 2 if dtype == "bool" else np.arange(24 * 3) - (dtype != "uint8")
    tensor = torch.as_tensor(values).to(getattr(torch, dtype))
    assert torch.equal(program(tensor), tensor)
    assert torch.equal(program(tensor.repeat(2)[:72]), tensor)
    if dtype != "bfloat16":
        array = values.astype(dtype)
        y = program(array)
        assert y.dtype == array.dtype
        assert np.array_equal(y, array)
        assert np.array_equal(program(np.repeat(array, 2)[::2]), array)
