"""swath compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import Run
from swath.graph.ir import Graph
from swath.passes import pipeline

# One worker compiles the model that these tests share.
pytestmark = pytest.mark.xdist_group("cli")


def test_agreement(run: Run, model: Path, artefact: Path) -> None:
    ran = run("compare", f"{model}:make", "--program", artefact, "--json", "--rows", "200")
    assert ran.code == 0, ran.err
    found = ran.document["result"]["comparison"]
    assert found["rows"] == 200
    (output,) = found["outputs"]
    assert output["shape"] == [200, 1]
    assert 0 < output["absolute"] < 1e-6
    assert output["error"] < 1e-6
    assert [check["what"] for check in found["row_checks"]] == ["batch", "position", "threads"]
    assert all(check["identical"] for check in found["row_checks"])


def test_too_tight_a_tolerance(run: Run, model: Path, artefact: Path) -> None:
    words = ("compare", f"{model}:make", "--program", str(artefact), "--tolerance", "0", "0")
    ran = run(*words)
    assert ran.code == 1
    assert "DIFFERS" in ran.out
    assert ran.next == f"swath {' '.join(words)} --bisect"


def test_bisect_blames_the_kernels_of_another_model(run: Run, model: Path, artefact: Path) -> None:
    ran = run("compare", f"{model}:other", "--program", artefact, "--bisect", "--json")
    assert ran.code == 1
    found = ran.document["result"]["bisection"]
    assert found["first_bad"] == "kernels"
    assert [step["step"] for step in found["steps"] if not step["agrees"]] == ["kernels"]
    assert found["kernels_from_graph"] > 1e-4


def spoil_weights(graph: Graph) -> Graph:
    """A pass with a defect."""
    constants = {
        name: array * np.float32(1.5) if name == "score.weight" else array
        for name, array in graph.constants.items()
    }
    return replace(graph, constants=constants)


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline with that pass in it."""
    steps = list(pipeline.PIPELINE)
    steps.insert(3, spoil_weights)
    monkeypatch.setattr(pipeline, "PIPELINE", tuple(steps))


@pytest.mark.usefixtures("spoiled")
def test_bisect_names_the_pass_that_breaks_it(run: Run, model: Path) -> None:
    ran = run("compare", f"{model}:make", "--bisect", "--targets", "x86-64-v3")
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "the first step that breaks it: spoil_weights"
    assert ran.next == f"swath inspect {model}:make --passes"


def test_rows_from_a_file(run: Run, model: Path, artefact: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, ids=np.arange(5), dense=np.full((5, 3), np.nan, np.float32))
    ran = run("compare", f"{model}:make", "--program", artefact, "--inputs", path, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["result"]["comparison"]["rows"] == 5


@pytest.mark.parametrize(
    "arrays",
    [
        {"ids": np.arange(5)},
        {"ids": np.arange(5), "dense": np.zeros((5, 3))},
        {"ids": np.arange(5)[:, None], "dense": np.zeros((5, 3), np.float32)},
    ],
)
def test_a_file_that_does_not_fit(
    run: Run, model: Path, artefact: Path, tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    ran = run("compare", f"{model}:make", "--program", artefact, "--inputs", path)
    assert ran.code == 2
    assert "error[SW407]" in ran.err


DEMANDING = """
import torch
from torch import nn


class Demanding(nn.Module):
    def forward(self, x):
        if not torch.compiler.is_exporting() and len(x) > 50:
            raise ValueError("too many rows for me")
        return x * 2


def make():
    return Demanding(), (torch.randn(8, 4),)
"""


def test_a_model_that_fails_in_eager(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demanding.py"
    path.write_text(DEMANDING)
    ran = run("compare", f"{path}:make", "--targets", "x86-64-v3")
    assert ran.code == 2
    assert "error[SW412]" in ran.err
    assert "too many rows for me" in ran.err
    ran = run("compare", f"{path}:make", "--targets", "x86-64-v3", "--rows", "40")
    assert ran.code == 0, ran.err
