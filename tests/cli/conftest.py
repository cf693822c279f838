"""Commands run in this process, and a small model to run them on."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from commands import MODEL, Ran, Run
from swath.cli.main import swath


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("check", path)` runs a command."""

    def command(*arguments: str | Path) -> Ran:
        result = CliRunner().invoke(swath, [str(argument) for argument in arguments])
        return Ran(result.exit_code, result.stdout, result.stderr)

    return command


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with factories: make, other, fails, nothing, sizes, MODELS.one."""
    path = tmp_path_factory.mktemp("models") / "scorer.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="session")
def artefact(model: Path, run: Run) -> Path:
    """The compiled `make`, for one ISA to be quick."""
    path = model.parent / "scorer.swath"
    ran = run("compile", f"{model}:make", "-o", path, "--targets", "x86-64-v3")
    assert ran.code == 0, ran.err
    return path
