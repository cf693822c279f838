"""Errors that no other test has reason to meet: each id of the catalogue is raised somewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from rows.toys import MIXING, toy
from swath.cli.outcome import Outcome, Output, run
from swath.errors import EnvironmentProblem, InternalError, SwathError, UnsupportedModel
from swath.frontends.rules import RULES
from swath.frontends.torch_export import import_program
from swath.graph.types import DType
from swath.report import models, roofline
from swath.report.machine import ProbeError
from swath.rows import debatch
from swath.targets.cpu.build import Compiler, build_libraries


class Positions(nn.Module):
    """Returns where each row stands."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.sum(1), torch.arange(x.shape[0])


def test_a_model_that_numbers_its_rows() -> None:
    with pytest.raises(UnsupportedModel, match="SW031"):
        debatch(import_program(Positions().eval(), (torch.ones(4, 3),)).graph)


def test_an_output_that_is_ragged() -> None:
    text, _ = MIXING["ragged output"]
    with pytest.raises(UnsupportedModel, match="SW034"):
        debatch(toy(text))


def test_a_rule_with_a_wrong_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(context: Any, x: Any) -> Any:
        return context.cast(x, DType.FLOAT64)

    monkeypatch.setitem(RULES, "aten.tanh.default", wrong)
    with pytest.raises(InternalError, match="SW921"):
        import_program(nn.Tanh().eval(), (torch.ones(4, 3),))


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text("this is no C++")
    with pytest.raises(EnvironmentProblem, match="SW302"):
        build_libraries(source, tmp_path, ["x86-64-v3"], Compiler(("g++",)))


def test_a_machine_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_: str) -> None:
        return None

    monkeypatch.setattr(models, "find_spec", find_nothing)
    with pytest.raises(EnvironmentProblem, match="SW303"):
        models.load_model("model.py:make")


def test_a_machine_that_cant_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise ProbeError("no C++ compiler found")

    monkeypatch.setattr(roofline, "measure_machine", fail)
    with pytest.raises(EnvironmentProblem, match="SW304"):
        roofline.probe_machine()


def test_a_saved_program_without_example_inputs(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    program = torch.export.export(nn.Tanh(), (torch.ones(2, 3),))
    program.example_inputs = None
    torch.export.save(program, path)
    with pytest.raises(SwathError, match="SW406"):
        models.load_model(str(path))


def test_a_defect_in_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: Any) -> Outcome:
        raise ZeroDivisionError("of course")

    with pytest.raises(SystemExit) as caught:
        run("check", Output(), fail)
    assert caught.value.code == 3
    said = capsys.readouterr().err
    assert "SW900" in said
    assert "ZeroDivisionError: of course" in said
