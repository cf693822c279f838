"""Calling a program: arrays of every legal form, and the structures around them."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import handmade
from swath.runtime import Program, load

RANDOM = np.random.default_rng(5)


def expected(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """What `scale` computes, in its order of additions."""
    total = np.zeros((x.shape[0], 1), np.float32)
    for column in range(4):
        total[:, 0] += x[:, column]
    return total


def batch(rows: int) -> NDArray[np.float32]:
    return RANDOM.random((rows, 4), np.float32)


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 63, 64, 65, 1000, 4097])
def test_any_number_of_rows(scale: Program, rows: int) -> None:
    x = batch(rows)
    y = scale(x)
    assert type(y) is np.ndarray
    assert y.shape == (rows, 1)
    assert np.array_equal(y, expected(x))


def test_layouts_that_are_legal(scale: Program) -> None:
    x = batch(12)
    wide = RANDOM.random((12, 9), np.float32)
    read_only = x.copy()
    read_only.flags.writeable = False
    odd = np.zeros(12 * 16 + 1, np.uint8)[1:].view(np.float32).reshape(12, 4)
    odd[:] = x
    for array in (
        x[::2],
        x[::-1],
        np.asfortranarray(x),
        wide[:, 2:6],
        wide[:, 1::2],
        wide[:, 6:2:-1],
        np.broadcast_to(x[0], (12, 4)),
        read_only,
        odd,
        np.ascontiguousarray(x).view(np.ndarray),
    ):
        assert np.array_equal(scale(array), expected(np.ascontiguousarray(array)))


def test_torch_tensors_come_back_as_torch_tensors(scale: Program) -> None:
    x = torch.rand(6, 4)
    y = scale(x)
    assert isinstance(y, torch.Tensor)
    assert y.shape == (6, 1)
    assert not y.requires_grad
    assert np.array_equal(y.numpy(), expected(x.numpy()))
    y += 1  # the memory is the caller's
    kept = [scale(torch.full((3, 4), float(i))) for i in range(50)]
    assert [float(value[0]) for value in kept] == [4.0 * i for i in range(50)]


def test_layouts_of_torch_tensors(scale: Program) -> None:
    x = torch.rand(12, 4)
    wide = torch.rand(12, 9)
    for tensor in (
        x[::2],
        x.t().contiguous().t(),
        wide[:, 3:7],
        wide[:, 1::2],
        x[0].expand(12, 4),
        torch.nn.Parameter(x),
        x.clone().requires_grad_(),
        torch.empty(0, 4),
    ):
        array = tensor.detach().contiguous().numpy()
        assert np.array_equal(scale(tensor).numpy(), expected(array))


def test_inside_torch_modes(scale: Program) -> None:
    x = torch.rand(3, 4)
    with torch.inference_mode():
        assert scale(torch.ones(1, 4)).item() == 4
    with torch.no_grad():
        assert scale(x).shape == (3, 1)


class Exchanged:
    """An array of another library, known by DLPack alone."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_other_array_objects(scale: Program, tmp_path: Path) -> None:
    x = batch(5)
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "w+", shape=(5, 4))
    mapped[:] = x
    for array in (Exchanged(x), mapped):
        y = scale(array)
        assert type(y) is np.ndarray
        assert np.array_equal(y, expected(x))


def test_by_name(scale: Program) -> None:
    x = batch(2)
    assert np.array_equal(scale(x=x), scale(x))


def test_tables(lookup: Program) -> None:
    ids = np.array([9, 0, 3, 3])
    assert np.array_equal(lookup(ids), handmade.TABLE[ids])


def test_rows_inside_other_axes(write: handmade.Write) -> None:
    model = dataclasses.replace(
        handmade.axes_model(),
        result=handmade.TupleNode(items=(handmade.Leaf(0), handmade.Leaf(1))),
        weights=np.array([4, 3, 2, 1], np.float32),
    )
    program = load(write(model))
    for rows in (0, 1, 5, 200):
        x = RANDOM.random((3, 2 * rows), np.float32)
        parts = x.reshape(3, 2, rows)
        sums = parts[0] + parts[1] + parts[2]
        for array in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            y, z = program(array)
            assert y.shape == (2, 2 * rows)
            assert np.array_equal(y[0].reshape(rows, 2), sums.T)
            assert np.array_equal(y[1], -y[0])
            assert z.tolist() == [4, 3, 2, 1]
        y, z = program(torch.as_tensor(x))
        assert np.array_equal(y[0].reshape(rows, 2), sums.T)
        assert z.tolist() == [4, 3, 2, 1]


def bag_sums(values: NDArray[Any], offsets: list[int], end: int) -> list[float]:
    edges = [*offsets, end]
    return [float(sum(values[a:b])) for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("offsets", [[0], [0, 0, 4, 4, 9], [0, 10], [0, 3, 10]])
def test_bags(bag: Program, closed_bag: Program, offsets: list[int]) -> None:
    values = RANDOM.random(10)
    sums = bag_sums(values, offsets, 10)
    assert bag(values, np.array(offsets)).tolist() == sums
    assert closed_bag(values, np.array([*offsets, 10])).tolist() == sums
    assert closed_bag(values, np.array(offsets)).tolist() == sums[:-1]
    assert bag(torch.as_tensor(values), torch.tensor(offsets)).tolist() == sums
    assert bag(np.repeat(values, 2)[::2], np.repeat(np.array(offsets), 2)[::2]).tolist() == sums


def test_bags_without_rows_or_values(bag: Program, closed_bag: Program) -> None:
    nothing = np.zeros(0)
    assert bag(nothing, np.zeros(0, np.int64)).shape == (0,)
    assert bag(nothing, np.zeros(3, np.int64)).tolist() == [0, 0, 0]
    assert closed_bag(nothing, np.zeros(1, np.int64)).shape == (0,)


def test_nested_inputs_and_outputs(nested: Program) -> None:
    a, b, c = (RANDOM.random(3, np.float32) for _ in range(3))
    d = np.ones(1, np.float32)
    result = nested((a, [b]), {"d": d, "c": c})
    assert list(result) == ["sum", "same", "fixed"]
    assert np.allclose(result["sum"], a + b + c + 1)
    assert result["same"] is a
    assert result["fixed"] == (2.0,)
    again = nested(features={"c": c, "d": d}, pair=[a, (b,)], scale=2.0)
    assert np.array_equal(again["sum"], result["sum"])


class Features(NamedTuple):
    """The second argument of `nested`."""

    c: NDArray[np.float32]
    d: NDArray[np.float32]


def test_named_tuples_and_objects_stand_for_dicts(nested: Program) -> None:
    ones = np.ones(2, np.float32)
    result = nested((ones, [ones]), Features(ones, ones[:1]))
    assert result["sum"].tolist() == [4, 4]


def test_torch_is_given_back_for_mixed_inputs(nested: Program) -> None:
    ones = np.ones(2, np.float32)
    result = nested((ones, [torch.ones(2)]), {"c": ones, "d": ones[:1]})
    assert isinstance(result["sum"], torch.Tensor)


def test_run_into_arrays_of_the_caller(scale: Program) -> None:
    x, y = batch(9), np.empty((9, 1), np.float32)
    scale.run_into([x], [y])
    assert np.array_equal(y, expected(x))
    tensor = torch.empty(9, 1)
    scale.run_into((torch.as_tensor(x),), (tensor,))
    assert np.array_equal(tensor.numpy(), y)


def test_a_program_describes_itself(scale: Program) -> None:
    assert scale.name == "handmade"
    assert scale.inputs[0].row_shape == (1, 4)
    assert scale.outputs[0].dtype == "float32"
    assert repr(scale) == "<swath.Program handmade(x) x86-64-v3>"
    assert scale.scratch_bytes == 256


def test_calls_have_the_speed_of_a_vectorcall(scale: Program) -> None:
    assert type(scale).__flags__ & (1 << 11)  # Py_TPFLAGS_HAVE_VECTORCALL
