"""Every input that doesn't fit is refused, in words that say what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

import handmade
from swath.errors import InvalidInput, Problem
from swath.runtime import Program, load


def refusal(call: Callable[[], Any]) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(f"error[{caught.value.problem.id}]: ")
    return caught.value.problem


def x(rows: int = 2) -> Any:
    return np.ones((rows, 4), np.float32)


def test_missing_and_extra_inputs(scale: Program) -> None:
    missing = refusal(lambda: scale())
    assert (missing.id, missing.what) == ("SW101", "the input `x` is missing")
    assert refusal(lambda: scale(x(), x())).id == "SW102"
    unknown = refusal(lambda: scale(x(), z=1))
    assert (unknown.id, unknown.what) == ("SW102", "there is no input `z`")
    assert refusal(lambda: scale(x(), x=x())).what == "the input `x` was given twice"


@pytest.mark.parametrize(
    "dtype", [np.float64, np.int64, np.int32, np.bool_, np.complex64, ">f4", "U4", object]
)
def test_dtypes(scale: Program, dtype: Any) -> None:
    problem = refusal(lambda: scale(np.zeros((2, 4), dtype)))
    assert problem.id == "SW106"
    assert "instead of float32" in problem.what
    assert "x.astype(np.float32)" in problem.fix


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.complex64, torch.int8, torch.bool]
)
def test_torch_dtypes(scale: Program, dtype: torch.dtype) -> None:
    problem = refusal(lambda: scale(torch.zeros(2, 4, dtype=dtype)))
    assert problem.id == "SW106"
    assert f"dtype {str(dtype).removeprefix('torch.')} instead" in problem.what
    assert "x.to(torch.float32)" in problem.fix


@pytest.mark.parametrize("shape", [(), (4,), (2, 4, 1), (2, 2, 4), (1,) * 40])
def test_ranks(scale: Program, shape: tuple[int, ...]) -> None:
    problem = refusal(lambda: scale(np.zeros(shape, np.float32)))
    assert problem.id == "SW107"
    assert "instead of [B, 4]" in problem.what


@pytest.mark.parametrize("shape", [(2, 3), (2, 5), (4, 0), (0, 5)])
def test_shapes(scale: Program, shape: tuple[int, int]) -> None:
    assert refusal(lambda: scale(np.zeros(shape, np.float32))).id == "SW108"


@pytest.mark.parametrize(
    "value",
    [
        None,
        1.0,
        "x",
        [[1.0] * 4],
        np.float32(1),
        memoryview(b"1234"),
        np.ma.masked_array(np.ones((2, 4), np.float32)),
        object(),
    ],
)
def test_what_is_no_array(scale: Program, value: Any) -> None:
    problem = refusal(lambda: scale(value))
    assert problem.id == "SW105"
    assert "np.asarray(x, dtype=np.float32)" in problem.fix


def test_tensors_without_readable_memory(scale: Program) -> None:
    for tensor in (
        torch.ones(2, 4, device="meta"),
        torch.ones(2, 4).to_sparse(),
        torch.ones(2, 4, dtype=torch.complex64).conj().imag,
    ):
        assert refusal(lambda tensor=tensor: scale(tensor)).id == "SW105"


class Elsewhere:
    """An array on a GPU, by its word."""

    device = "cuda:0"

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the CPU can't read this")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_arrays_on_another_device(scale: Program) -> None:
    problem = refusal(lambda: scale(Elsewhere()))
    assert (problem.id, problem.fix) == ("SW110", "x.cpu()")
    assert "lies on cuda:0" in problem.what


def test_rows_must_agree(nested: Program) -> None:
    a, d = np.ones(3, np.float32), np.ones(1, np.float32)
    problem = refusal(lambda: nested((a, [a[:2]]), {"c": a, "d": d}))
    assert problem.id == "SW109"
    assert "`b` has another number of rows than `a`" in problem.what
    # An input for all rows has a fixed shape.
    assert refusal(lambda: nested((a, [a]), {"c": a, "d": a})).id == "SW108"


def test_nesting(nested: Program) -> None:
    a, d = np.ones(3, np.float32), np.ones(1, np.float32)
    features = {"c": a, "d": d}
    for call in (
        lambda: nested(a, features),
        lambda: nested((a, a), features),
        lambda: nested((a,), features),
        lambda: nested((a, [a, a]), features),
        lambda: nested((a, [a]), {"c": a}),
        lambda: nested((a, [a]), {"c": a, "d": d, "e": a}),
        lambda: nested((a, [a]), a),
    ):
        assert refusal(call).id == "SW103"


def test_fixed_arguments(nested: Program) -> None:
    a, d = np.ones(3, np.float32), np.ones(1, np.float32)
    for value in (3.0, 2, True, None, "2.0", a):
        problem = refusal(lambda value=value: nested((a, [a]), {"c": a, "d": d}, scale=value))
        assert problem.id == "SW104"
        assert "pass 2.0" in problem.fix
    assert refusal(lambda: nested((a, [a]), {"c": a, "d": d}, 2.0)).id == "SW102"


@pytest.mark.parametrize(
    ("offsets", "what"),
    [
        ([1, 2], "begin with 1"),
        ([-1, 2], "begin with -1"),
        ([0, 3, 2], "decrease to 2 at 2"),
        ([0, 11], "hold 11 at 1"),
        ([0, 1 << 40], f"hold {1 << 40} at 1"),
        ([0, 5, -(1 << 40)], "decrease"),
    ],
)
def test_offsets(bag: Program, closed_bag: Program, offsets: list[int], what: str) -> None:
    values = np.ones(10)
    for program in (bag, closed_bag):
        problem = refusal(lambda program=program: program(values, np.array(offsets)))
        assert problem.id == "SW111"
        assert what in problem.what


def test_columns_with_the_same_offsets_must_be_equally_long(write: handmade.Write) -> None:
    plain = handmade.bag_model()
    values, offsets = plain.inputs
    weights = msgspec.structs.replace(values, name="weights")
    program = load(write(dataclasses.replace(plain, inputs=[values, offsets, weights])))
    cut = np.array([0, 4])
    assert program(np.ones(9), cut, np.ones(9)).tolist() == [4, 5]
    problem = refusal(lambda: program(np.ones(9), cut, np.ones(8)))
    assert problem.id == "SW112"
    assert problem.what == "the input `weights` has 8 values, and `values` has 9"


def test_offsets_of_wrong_length_or_rank(closed_bag: Program) -> None:
    values = np.ones(10)
    assert refusal(lambda: closed_bag(values, np.zeros(0, np.int64))).id == "SW108"
    assert refusal(lambda: closed_bag(values, np.zeros((1, 2), np.int64))).id == "SW107"
    assert refusal(lambda: closed_bag(values[None], np.zeros(2, np.int64))).id == "SW107"


@pytest.mark.parametrize("value", [-1, 10, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("rows", [5, 500])
def test_ids_outside_of_their_table(lookup: Program, value: int, rows: int) -> None:
    ids = np.zeros(rows, np.int64)
    ids[3] = value
    ids[rows - 1] = 99
    problem = refusal(lambda: lookup(ids))
    assert problem.id == "SW113"
    assert problem.what == f"the id {value} is outside of the table `users`"
    assert "ids run from 0 to 9" in problem.why
    assert "row 3" in problem.why
    assert "swath.Input" in problem.fix
    assert lookup(ids[:3]).shape == (3, 5)


def test_outputs_that_dont_fit(scale: Program) -> None:
    read_only = np.empty((2, 1), np.float32)
    read_only.flags.writeable = False
    for output in (
        np.empty((3, 1), np.float32),
        np.empty((2, 1)),
        np.empty((4, 1), np.float32)[::2],
        read_only,
        [0.0],
    ):
        problem = refusal(lambda output=output: scale.run_into([x()], [output]))
        assert problem.id == "SW115"
    assert refusal(lambda: scale.run_into([], [])).id == "SW102"
    assert refusal(lambda: scale.run_into([x()], [])).id == "SW102"
    with pytest.raises(TypeError):
        scale.run_into(x(), x())
    with pytest.raises(TypeError):
        scale.run_into([x()])  # pyright: ignore[reportCallIssue]


def test_a_refusal_leaves_the_program_usable(scale: Program) -> None:
    for _ in range(200):
        refusal(lambda: scale(np.ones(3)))
    assert scale(x())[0, 0] == 4
    scale.close()
    assert scale.closed


def test_bfloat16_outputs_go_to_torch_only(write: handmade.Write) -> None:
    scale = handmade.scale_model()
    body = """
    const unsigned short* x = (const unsigned short*)call->inputs[0];
    ((unsigned short*)call->outputs[0])[row] = x[row];
    """
    spec = {"dtype": "bfloat16", "row_shape": (1,)}
    model = dataclasses.replace(
        scale,
        body=body,
        inputs=[msgspec.structs.replace(scale.inputs[0], **spec)],
        outputs=[msgspec.structs.replace(scale.outputs[0], **spec)],
    )
    program = load(write(model))
    x = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    assert torch.equal(program(x), x)
    half = dataclasses.replace(
        model, inputs=[msgspec.structs.replace(scale.inputs[0], dtype="int16", row_shape=(1,))]
    )
    program = load(write(half))
    assert refusal(lambda: program(np.zeros(2, np.int16))).id == "SW116"
