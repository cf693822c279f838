"""swath compile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swath
from commands import Run

# One worker compiles the model that these tests share.
pytestmark = pytest.mark.xdist_group("cli")


def test_artefact_runs(artefact: Path) -> None:
    with swath.load(artefact) as program:
        scores = program(np.arange(4), np.zeros((4, 3), np.float32))
    assert scores.shape == (4, 1)


def test_what_stands_in_the_way_is_kept_unless_asked(run: Run, model: Path, artefact: Path) -> None:
    before = (artefact / "manifest.json").read_bytes()
    ran = run("compile", f"{model}:make", "-o", artefact)
    assert ran.code == 2
    assert ran.next == f"swath compile {model}:make -o {artefact} --overwrite"
    assert (artefact / "manifest.json").read_bytes() == before


def test_no_folder_but_an_artefact_is_replaced(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    ran = run("compile", f"{model}:make", "-o", tmp_path, "--overwrite")
    assert ran.code == 2
    assert (tmp_path / "precious.txt").read_text() == "keep me"


def test_declarations_and_options_reach_the_artefact(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "modulo.swath"
    ran = run(
        "compile", f"{model}:make", "-o", path, "--json", "--input", "ids:ids=modulo",
        "--targets", "x86-64-v3", "--rows-per-swath", "24", "--disabled-passes", "pack",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert list(ran.document["result"]["libraries"]) == ["x86-64-v3"]
    with swath.load(path) as program:
        assert program.manifest.rows_per_swath == 24
        assert program.manifest.options["disabled_passes"] == ["pack"]
        dense = np.zeros((2, 3), np.float32)
        inside, outside = program(np.array([7, 107]), dense)
    assert inside == outside


def test_declarations_that_make_no_sense(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "never.swath"
    for text, why in [
        ("ids", "write NAME:KEY=VALUE"),
        ("ids:policy=error", "there is no key 'policy'"),
        ("ids:ids=maybe", "Invalid enum value"),
        ("ids:default_row=x", "Expected `int`"),
    ]:
        ran = run("compile", f"{model}:make", "-o", path, "--input", text)
        assert ran.code == 2
        assert why in ran.err
        assert ran.next == "swath compile --help"
    ran = run("compile", f"{model}:make", "-o", path, "--input", "idz:ids=modulo")
    assert ran.code == 2
    assert not path.exists()


def test_without_a_compiler(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "never.swath"
    ran = run("compile", f"{model}:make", "-o", path, "--compiler", "no-such-compiler")
    assert ran.code == 4
    assert "error[SW301]" in ran.err
    assert ran.next == "swath doctor"
    assert not path.exists()


def test_an_unsupported_model(run: Run, model: Path, tmp_path: Path) -> None:
    ran = run("compile", f"{model}:sizes", "-o", tmp_path / "never.swath", "--json")
    assert ran.code == 3
    assert ran.document["result"] is None
    assert ran.document["problems"]
    assert ran.document["next"] == ran.next == f"swath check {model}:sizes"
