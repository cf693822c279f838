"""swath check, and what all commands say of a model that can't be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import Run

SIX = """
import torch
from torch import nn


class Six(nn.Module):
    def forward(self, x):
        a = torch.linalg.inv(x.reshape(-1, 2, 2)).reshape(-1, 4)
        b = torch.fft.fft(x).real
        c = torch.nonzero(x).sum()
        d = torch.sort(x, dim=0).values
        e = torch.bernoulli(x)
        f = x - x.mean(dim=0)
        return a + b + c + d + e + f


def make():
    return Six(), (torch.rand(8, 4),)
"""


def test_a_model_that_compiles(run: Run, model: Path) -> None:
    ran = run("check", f"{model}:make")
    assert ran.code == 0
    assert ran.out.startswith("Scorer compiles\n")
    assert ran.next == f"swath compile {model}:make"


def test_json(run: Run, model: Path) -> None:
    document = run("check", f"{model}:MODELS.one", "--json").document
    assert document["exit"] == 0
    assert document["result"]["inputs"] == {"ids": "i64[B]", "dense": "f32[B,3]"}
    assert document["result"]["table_bytes"] == 100 * 16 * 4


def test_every_problem_is_listed_with_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "six.py"
    path.write_text(SIX)
    ran = run("check", f"{path}:make", "--json")
    assert ran.code == 3
    problems = ran.document["problems"]
    lines = {problem["line"]: problem for problem in problems}
    assert sorted(lines) == [8, 9, 10, 11, 12, 13]
    assert all(Path(problem["file"]) == path for problem in problems)
    assert all(problem["why"] and problem["fix"] for problem in problems)
    assert all(f"error[{problem['id']}]" in ran.err for problem in problems)
    assert ran.next.startswith("swath explain SW")


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("{model}", "SW401"),
        (":make", "SW401"),
        ("{folder}/none.py:make", "SW402"),
        ("no_such_module_at_all:make", "SW402"),
        ("{model}:mkae", "SW403"),
        ("{model}:MODELS.two", "SW403"),
        ("{model}:fails", "SW404"),
        ("{model}:nothing", "SW405"),
        ("{model}:torch", "SW405"),
        ("{folder}/none.pt2", "SW402"),
    ],
)
def test_a_model_that_cannot_be_loaded(run: Run, model: Path, name: str, id: str) -> None:
    ran = run("check", name.format(model=model, folder=model.parent))
    assert ran.code == 2
    assert f"error[{id}]" in ran.err
    assert ran.next == f"swath explain {id}"
    assert "Traceback" not in ran.err


def test_the_place_in_a_factory_that_fails(run: Run, model: Path) -> None:
    problem = run("check", f"{model}:fails", "--json").document["problems"][0]
    assert problem["file"] == str(model)
    assert problem["source"] == 'raise ValueError("there are no weights")'


def test_a_saved_program(run: Run, tmp_path: Path) -> None:
    import torch

    path = tmp_path / "linear.pt2"
    batch = torch.export.Dim("batch")
    program = torch.export.export(
        torch.nn.Linear(4, 2).eval(), (torch.randn(8, 4),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(program, path)
    ran = run("check", path, "--json")
    assert ran.code == 0, ran.err
    assert list(ran.document["result"]["outputs"].values()) == ["f32[B,2]"]
