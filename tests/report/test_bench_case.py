"""How cases are made and their inputs drawn."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from swath.errors import SwathError
from swath.report.bench_case import case_of, rows_of_examples
from swath.report.models import NamedModel


class Adds(nn.Module):
    """Two inputs by position or by name."""

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """[B, n] and [B, n] to [B, n]."""
        return left + right


class AddsByName(nn.Module):
    """An input that goes by name only."""

    def forward(self, left: Tensor, *, right: Tensor) -> Tensor:
        """[B, n] and [B, n] to [B, n]."""
        return left + right


EXAMPLE = torch.arange(6.0).reshape(3, 2)


def test_rows_are_drawn_from_the_example_together() -> None:
    draw = rows_of_examples((EXAMPLE, {"twice": EXAMPLE * 2}, 7))
    left, named, number = draw(50, 3)
    assert left.shape == (50, 2)
    assert torch.equal(named["twice"], left * 2)
    assert number == 7
    assert torch.equal(left.unique(dim=0), EXAMPLE)  # pyright: ignore[reportUnknownMemberType]


def test_the_same_seed_draws_the_same_rows() -> None:
    draw = rows_of_examples((EXAMPLE,))
    assert torch.equal(draw(20, 1)[0], draw(20, 1)[0])
    assert not torch.equal(draw(20, 1)[0], draw(20, 2)[0])


def test_rows_of_different_lengths_are_refused_with_the_way_out() -> None:
    draw = rows_of_examples((EXAMPLE, EXAMPLE[:2]))
    with pytest.raises(SwathError, match="make_inputs"):
        draw(1, 0)


@pytest.mark.parametrize(
    "given",
    [
        (EXAMPLE, EXAMPLE),
        {"right": EXAMPLE, "left": EXAMPLE},
        ((EXAMPLE,), {"right": EXAMPLE}),
    ],
)
def test_arguments_by_name_become_positional(given: Any) -> None:
    case = case_of(NamedModel("Adds", Adds(), given))
    assert len(case.example_inputs) == 2
    assert torch.equal(case.model(*case.make_inputs(5, 0)), case.make_inputs(5, 0)[0] * 2)


def test_arguments_by_keyword_only_are_refused() -> None:
    with pytest.raises(SwathError, match="keyword"):
        case_of(NamedModel("AddsByName", AddsByName(), ((EXAMPLE,), {"right": EXAMPLE})))


def test_an_exported_program_is_kept_and_its_module_called() -> None:
    program = torch.export.export(Adds(), (EXAMPLE, EXAMPLE))
    case = case_of(NamedModel("program", program, program.example_inputs))
    assert case.exported is program
    assert torch.equal(case.model(*case.example_inputs), EXAMPLE * 2)


def test_inputs_drawn_by_the_factory_are_used() -> None:
    made = NamedModel("Adds", Adds(), (EXAMPLE, EXAMPLE), None,
                      lambda batch, seed: (torch.full((batch, 2), seed),) * 2)  # fmt: skip
    assert case_of(made).make_inputs(4, 9)[0].tolist() == [[9, 9]] * 4
