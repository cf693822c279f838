"""Everything that a model holds and Swath can't compile is told at once, with its place."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from swath.errors import Problem, UnsupportedModel
from swath.frontends.check import check
from swath.frontends.torch_export import import_program

X = torch.randn(4, 6)
T: Any = torch  # functions that torch annotates only in part


def line_of(function: Any, text: str) -> int:
    """The line of the file at which a function says `text`."""
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def places(problems: list[Problem]) -> set[tuple[str, int | None]]:
    for problem in problems:
        assert problem.what
        assert problem.why
        assert problem.fix
        assert problem.where.file == __file__
    return {(problem.id, problem.where.line) for problem in problems}


class FiveProblems(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = self.layer(x)
        scale = x.max().item()
        x = x * scale + torch.rand(6)
        x += T.linalg.matrix_exp(x.unsqueeze(1) * x.unsqueeze(2)).sum(1)
        x = x - x.mean(0)
        return torch.relu(x)


def test_five_problems_are_told_at_once() -> None:
    at = FiveProblems.forward
    assert places(check(FiveProblems().eval(), (X,))) == {
        ("SW005", line_of(at, "x.sum()")),
        ("SW006", line_of(at, ".item()")),
        ("SW011", line_of(at, "torch.rand")),
        ("SW004", line_of(at, "matrix_exp")),
        ("SW030", line_of(at, "x.mean(0)")),
    }


class OnlyOperations(nn.Module):
    """Exports, but holds operations that can't be compiled."""

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return T.fft.rfft(x).abs()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dead = torch.randn(3)
        x = x + torch.randn_like(x)
        y = self.helper(x)
        z = T.unique(x)
        del dead
        return torch.cat([y, x / x.shape[0]], 1) + z.sum()


def test_operations_without_a_rule_are_told_with_the_line_of_the_helper() -> None:
    forward, helper = OnlyOperations.forward, OnlyOperations.helper
    found = places(check(OnlyOperations().eval(), (X,)))
    assert found == {
        ("SW011", line_of(forward, "randn_like")),
        ("SW014", line_of(helper, "rfft")),
        ("SW010", line_of(forward, "T.unique")),
        ("SW013", line_of(forward, "x.shape[0]")),
    }


class Numpy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        order = np.vectorize(abs)(x.numpy())
        return x + T.from_numpy(order)


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 3, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        lengths = (x[:, :, 0] > -9).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), True, False)
        return self.gru(packed)[1][0]


class Tiled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = [[1.0]] * x.shape[0]
        return torch.cat([x, torch.tensor(rows)], 1)


class Compared(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 4:
            return x + 1
        return x


class Looped(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([row * 2 for row in x])


class Training(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.batch_norm(x, None, None, training=True)
        return nn.functional.dropout(x, 0.5)


class Refusing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            raise ValueError("not to be traced")
        return x * 2


class Wrong(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(5, 2)


@pytest.mark.parametrize(
    ("model", "example", "expected"),
    [
        (Numpy, X, {("SW007", "np.vectorize")}),
        (Packed, torch.randn(4, 3, 2), {("SW008", "pack_padded")}),
        (Tiled, X, {("SW009", "* x.shape[0]")}),
        (Compared, X, {("SW009", "x.shape[0] > 4")}),
        (Looped, X, {("SW009", "for row in x")}),
        (Training, X, {("SW012", "batch_norm"), ("SW011", "dropout")}),
        (Refusing, X, {("SW003", "raise")}),
        (Wrong, X, {("SW018", "torch.ones(5, 2)")}),
    ],
)
def test_each_construct_has_its_own_message(
    model: type[nn.Module], example: torch.Tensor, expected: set[tuple[str, str]]
) -> None:
    found = places(check(model().eval(), (example,)))
    assert found == {(id, line_of(model, text)) for id, text in expected}


class Untraceable(nn.Module):
    """Five problems of which the first stops tracing whatever is done."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(2, 3, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: Any) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), True, False)
        state = self.gru(packed)[1][0]
        state = nn.functional.dropout(state, 0.3)
        positive = state[state > 0]
        first = lengths.tolist()[0]
        state = state / T.norm(state, dim=0)
        return state + positive.sum() + first


def test_an_untraceable_model_has_all_its_problems_told() -> None:
    at = Untraceable.forward
    example = (torch.randn(4, 5, 2), torch.tensor([1, 5, 3, 2]))
    assert places(check(Untraceable().eval(), example)) == {
        ("SW008", line_of(at, "pack_padded")),
        ("SW011", line_of(at, "dropout")),
        ("SW010", line_of(at, "state > 0")),
        ("SW006", line_of(at, ".tolist()")),
        ("SW030", line_of(at, "T.norm")),
    }


class Frozen(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tiled = np.tile(np.arange(6), [x.shape[0], 1])
        if x.sum() > 0:
            x = x + 1
        x = x - T.from_numpy(tiled)
        return x - x.mean(0)


def test_problems_beyond_a_pinned_batch_are_told() -> None:
    at = Frozen.forward
    assert places(check(Frozen().eval(), (X,))) == {
        ("SW009", line_of(at, "np.tile")),
        ("SW005", line_of(at, "x.sum()")),
        ("SW030", line_of(at, "x.mean(0)")),
    }


class Forms(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.max_pool1d(x.unsqueeze(1), 2, dilation=2).squeeze(1)
        return torch.cat([y, x.roll(1, 0)], 1)


def test_forms_that_are_not_supported_are_told() -> None:
    assert places(check(Forms().eval(), (X,))) == {
        ("SW020", line_of(Forms.forward, "dilation")),
        ("SW023", line_of(Forms.forward, "roll")),
    }


class GivesNumbers(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[Any, Any]:
        return {0: x * 2}


class GivesSize(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return x * 2, x.shape[0]


@pytest.mark.parametrize("model", [GivesNumbers, GivesSize])
def test_results_without_a_structure_are_refused(model: type[nn.Module]) -> None:
    (problem,) = check(model().eval(), (X,))
    assert problem.id == "SW021"


class State(nn.Module):
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class Counting(State):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        self.calls += 1
        return x * self.calls if x.sum() > 0 else x


def test_checking_changes_neither_model_nor_example() -> None:
    model, x = Counting().eval(), torch.ones(4, 6)
    assert {problem.id for problem in check(model, (x,))} == {"SW005", "SW017"}
    assert model.calls.item() == 0
    assert bool((x == 1).all())


def test_a_model_with_state_is_refused() -> None:
    (problem,) = check(State().eval(), (X,))
    assert problem.id == "SW017"
    assert problem.where.line == line_of(State.forward, "self.calls += 1")


def test_training_mode_is_refused_with_the_modules() -> None:
    model = nn.Sequential(nn.Linear(6, 2), nn.Dropout()).eval()
    model[1].train()
    with pytest.raises(UnsupportedModel, match="training mode: 1") as caught:
        import_program(model, (X,))
    assert caught.value.problem.id == "SW001"


def test_nothing_is_wrong_with_a_good_model() -> None:
    assert check(nn.Linear(6, 2).eval(), (X,)) == []
