"""The catalogue of errors: complete, unique, and told in five lines."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import swath.errors
from swath.catalogue import entries
from swath.errors import (
    EnvironmentProblem,
    InvalidArtifact,
    InvalidInput,
    Problem,
    ProgramClosed,
    SwathError,
    UnsupportedModel,
    Where,
    catalogue,
)

SOURCE = Path(swath.errors.__file__).parent
ID = re.compile(r"\bSW\d{3}\b")

PROBLEM = Problem(
    "SW042",
    "`aten.unique_dim` has an output size that depends on the data",
    "output sizes must follow from input sizes",
    "pad to a bound and mask",
    Where("model.tower.dedup", "model.py", 88, "  x = torch.unique(ids)"),
)


def used_ids() -> set[str]:
    """The ids that the code can raise."""
    files = [file for file in SOURCE.rglob("*.py") if file.parent.name != "catalogue"]
    return {id for file in files for id in re.findall(r'"(SW\d{3})"', file.read_text())}


def test_an_error_has_five_lines() -> None:
    assert str(SwathError(PROBLEM)) == (
        "error[SW042]: `aten.unique_dim` has an output size that depends on the data\n"
        "  in      model.tower.dedup  (model.py:88)   x = torch.unique(ids)\n"
        "  why     output sizes must follow from input sizes\n"
        "  fix     pad to a bound and mask\n"
        "  more    swath explain SW042"
    )


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), ""),
        (Where("model"), "model"),
        (Where(file="a.py", line=3), "a.py:3"),
        (Where(file="a.py"), "a.py"),
        (Where("model", source="x"), "model   x"),
        (Where(source="x"), "x"),
    ],
)
def test_places_leave_out_what_isnt_known(where: Where, text: str) -> None:
    assert str(where) == text


def test_an_error_without_a_place_has_four_lines() -> None:
    assert "  in " not in str(Problem("SW001", "what", "why", "fix"))


def test_every_id_that_is_raised_is_explained() -> None:
    assert used_ids() - set(catalogue()) == set()


def test_every_explanation_belongs_to_an_id_that_is_raised() -> None:
    assert set(catalogue()) - used_ids() == set()


def test_every_id_is_triggered_by_a_test() -> None:
    tests = Path(__file__).parent
    texts = [file.read_text() for file in tests.rglob("*.py") if file != Path(__file__)]
    tested = {id for text in texts for id in ID.findall(text)}
    assert set(catalogue()) - tested == set()


def test_ids_are_unique_and_explanations_whole() -> None:
    ids = [entry.id for entry in entries()]
    assert len(ids) == len(set(ids))
    for entry in entries():
        assert ID.fullmatch(entry.id)
        text = str(entry)
        assert text.startswith(f"{entry.id}: {entry.title}\n")
        assert all(part.strip() in text for part in (entry.explanation, "Fails:", "Use instead:"))


def test_an_unsupported_model_lists_all_problems() -> None:
    second = Problem("SW001", "what", "why", "fix")
    error = UnsupportedModel(iter([PROBLEM, second]))
    assert error.problems == (PROBLEM, second)
    assert str(error) == f"{PROBLEM}\n\n{second}"


def test_errors_are_caught_by_their_kind() -> None:
    assert issubclass(InvalidInput, ValueError)
    for kind in (InvalidArtifact, EnvironmentProblem, ProgramClosed, UnsupportedModel):
        assert issubclass(kind, SwathError)


def test_errors_cross_processes() -> None:
    for error in (InvalidInput(PROBLEM), UnsupportedModel([PROBLEM])):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_swath_exports_five_names_lazily() -> None:
    assert {"compile", "load", "Program", "Input", "Options"} <= set(dir(swath))
    for name in swath.__all__:
        assert getattr(swath, name)
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        swath.train  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnusedExpression]
