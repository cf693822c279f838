"""What counts as a difference, and how arguments become flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from swath.artifact.manifest import (
    Constant,
    DictNode,
    Leaf,
    ListNode,
    OutputSpec,
    Parameter,
    RowsSource,
    TupleNode,
)
from swath.report.arguments import CallForm, flat_outputs, program_arguments
from swath.report.compare import difference

TOLERANCE = (1e-5, 1e-4)
SCORES = OutputSpec(name="scores", dtype="float32", row_shape=(1, 2), source=RowsSource(0))


def floats(*rows: tuple[float, float]) -> Any:
    """[B, 2] in float32."""
    return np.array(rows, np.float32)


def test_a_difference_within_the_tolerance() -> None:
    eager = floats((1.0, 100.0), (0.0, -3.0))
    ours = eager + floats((0.0, 0.009), (1e-6, 0.0))
    found = difference(SCORES, ours, eager, TOLERANCE, eager)
    assert found.agrees
    assert found.absolute == pytest.approx(0.009, rel=0.01)
    assert found.relative == pytest.approx(0.9e-4, rel=0.01)
    assert (found.row, found.eager) == (0, 100)
    assert (found.error, found.eager_error) == (found.absolute, 0)


def test_the_worst_element_is_the_one_that_uses_up_its_tolerance_most() -> None:
    eager = floats((1000.0, 0.0), (1.0, 1.0))
    ours = eager + floats((0.05, 0.0), (0.0, 0.0011))
    found = difference(SCORES, ours, eager, TOLERANCE)
    assert not found.agrees
    assert (found.row, found.eager) == (1, 1)
    assert found.absolute == pytest.approx(0.05, rel=0.01)


def test_ulps() -> None:
    one = np.float32(1)
    for ours, eager, ulp in [
        (np.nextafter(one, np.float32(2)), one, 1),
        (one, one, 0),
        (np.float32(-0.0), np.float32(0.0), 0),
        (np.nextafter(np.float32(0), np.float32(-1)), np.nextafter(np.float32(0), one), 2),
        (np.float32(2), one, 2**23),
    ]:
        pair = (np.array([[ours, 0]], np.float32), np.array([[eager, 0]], np.float32))
        assert difference(SCORES, *pair, (0.0, 0.0)).ulp == ulp


def test_what_is_not_finite_must_be_the_same() -> None:
    infinity, nan = float("inf"), float("nan")
    eager = floats((infinity, nan), (-infinity, 0.0))
    assert difference(SCORES, eager.copy(), eager, TOLERANCE).agrees
    others = [
        floats((infinity, 0.0), (-infinity, 0.0)),
        floats((0.0, nan), (-infinity, 0.0)),
        floats((infinity, nan), (infinity, 0.0)),
        floats((infinity, nan), (nan, 0.0)),
    ]
    for ours in others:
        found = difference(SCORES, ours, eager, TOLERANCE)
        assert not found.agrees
        assert found.absolute == infinity


def test_no_rows_agree_and_other_shapes_do_not() -> None:
    empty = np.zeros((0, 2), np.float32)
    assert difference(SCORES, empty, empty, TOLERANCE).agrees
    assert not difference(SCORES, empty, floats((0.0, 0.0)), TOLERANCE).agrees
    assert not difference(SCORES, empty, empty.astype(np.float64), TOLERANCE).agrees


def test_a_tolerance_of_nothing_takes_equal_numbers_only() -> None:
    eager = floats((0.0, 1.0))
    assert difference(SCORES, eager, eager, (0.0, 0.0)).agrees
    assert not difference(SCORES, floats((1e-30, 1.0)), eager, (0.0, 0.0)).agrees


class Pair(NamedTuple):
    """A structure that a model may take."""

    left: torch.Tensor
    right: torch.Tensor


PARAMETERS = (
    Parameter(name="ids", structure=Leaf(0)),
    Parameter(name="pair", structure=DictNode(("left", "right"), (Leaf(1), Leaf(2)))),
    Parameter(name="mode", structure=Constant("fast"), required=False),
    Parameter(name="features", structure=ListNode((Leaf(3), TupleNode((Leaf(4),)))),
              keyword_only=True),
)  # fmt: skip


def test_arguments_become_arrays_and_back() -> None:
    tensors = [torch.full((2,), float(number)) for number in range(5)]
    pair = Pair(tensors[1], tensors[2])
    example = ((tensors[0], pair, "fast"), {"features": [tensors[3], (tensors[4],)]})
    form = CallForm(example, PARAMETERS)
    assert [array[0] for array in form.example] == [0, 1, 2, 3, 4]
    arguments = form.arguments([array + 10 for array in form.example])
    ids, made, mode = arguments.positional
    assert (float(ids[0]), float(made.left[0]), float(made.right[0]), mode) == (10, 11, 12, "fast")
    assert isinstance(made, Pair)
    assert float(arguments.named["features"][1][0][0]) == 14
    again = form.flatten((arguments.positional, arguments.named))
    assert [array[0] for array in again] == [10, 11, 12, 13, 14]


def test_one_tensor_in_two_places_is_two_inputs() -> None:
    tensor = torch.zeros(2)
    form = CallForm((tensor, Pair(tensor, tensor), "fast"), PARAMETERS[:3])
    arguments = form.arguments([np.full(2, number, np.float32) for number in range(3)])
    ids, pair, _ = arguments.positional
    assert [float(leaf[0]) for leaf in (ids, pair.left, pair.right)] == [0, 1, 2]


def test_arguments_of_a_program_without_its_model() -> None:
    arrays = [np.array(number) for number in range(5)]
    arguments = program_arguments(PARAMETERS, arrays)
    assert arguments.positional == (0, {"left": 1, "right": 2}, "fast")
    assert arguments.named == {"features": (3, (4,))}


def test_outputs_are_found_whatever_nests_them() -> None:
    structure = TupleNode((DictNode(("right", "left"), (Leaf(1), Leaf(0))), Constant(None)))
    pair = Pair(torch.tensor([1.0]), torch.tensor([2.0]))
    for result in ((pair, None), ({"left": np.array([1.0]), "right": np.array([2.0])}, None)):
        assert [float(array[0]) for array in flat_outputs(structure, result)] == [1, 2]
