"""Commands that take an artefact: inspect, verify, bench."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from commands import Run
from swath.artifact.envelope import seal
from swath.artifact.reader import read_manifest

# One worker compiles the model that these tests share.
pytestmark = pytest.mark.xdist_group("cli")


@pytest.fixture
def copy(artefact: Path, tmp_path: Path) -> Path:
    """An artefact to be damaged."""
    return Path(shutil.copytree(artefact, tmp_path / "copy.swath"))


def test_inspect_shows_everything_that_matters(run: Run, artefact: Path) -> None:
    ran = run("inspect", artefact)
    assert ran.code == 0, ran.err
    for words in ("dead_code", "model.hidden", "scorer.py:", "peak scratch", "[B,3]"):
        assert words in ran.out


def test_inspect_json_holds_the_sections_that_were_asked_for(run: Run, artefact: Path) -> None:
    result = run("inspect", artefact, "--graph", "--json").document["result"]
    assert result["graph"].startswith("input %ids")
    assert result["source"] is None
    report = result["report"]
    end = max(buffer["offset"] + buffer["bytes"] for buffer in report["buffers"])
    assert 0 < end <= report["scratch_bytes"]
    assert all(kernel["function"] for kernel in report["kernels"])
    assert sum(kernel["flops"] for kernel in report["kernels"]) > 2 * (19 * 8 + 8)


def test_inspect_one_kernel_with_its_source(run: Run, artefact: Path) -> None:
    result = run("inspect", artefact, "--json").document["result"]
    for kernel in result["report"]["kernels"]:
        ran = run("inspect", artefact, "--kernel", kernel["number"])
        assert kernel["origin"] in ran.out
        assert f"static void {kernel['function']}(" in ran.out
    ran = run("inspect", artefact, "--kernel", "99")
    assert ran.code == 2
    assert "error[SW411]" in ran.err


def test_inspect_the_graph_behind_a_pass(run: Run, model: Path) -> None:
    ran = run("inspect", f"{model}:make", "--after", "import")
    assert "f32[B,3]" in ran.out
    ran = run("inspect", f"{model}:make", "--after", "fold_constants")
    assert "@candidate" in ran.out
    ran = run("inspect", f"{model}:make", "--after", "nothing")
    assert ran.code == 2
    assert "dead_code" in ran.err


def test_inspect_holds_the_program_against_the_machine(run: Run, artefact: Path) -> None:
    result = run("inspect", artefact, "--roofline", "--batch", "64", "--json").document["result"]
    found = result["roofline"]
    assert found["batch"] == 64
    assert found["measured"] > 0
    assert found["limit"] == pytest.approx(sum(k["limit"] for k in found["kernels"]), rel=0.01)
    assert found["machine"]["float32_gflops"] > 1
    parts = [kernel["measured"] for kernel in found["kernels"]]
    assert all(part > 0 for part in parts)
    assert sum(parts) == pytest.approx(found["measured"], rel=0.01)


def test_inspect_without_a_report(run: Run, copy: Path) -> None:
    manifest = read_manifest(copy)
    files = tuple(file for file in manifest.files if file.path != "report.json")
    (copy / "manifest.json").write_bytes(seal(replace(manifest, files=files)))
    (copy / "report.json").unlink()
    ran = run("inspect", copy)
    assert ran.code == 2
    assert "error[SW410]" in ran.err


def test_verify(run: Run, artefact: Path) -> None:
    ran = run("verify", artefact, "--json")
    assert ran.code == 0
    (found,) = ran.document["result"]
    assert found["whole"]
    assert found["files"] == len(read_manifest(artefact).files)


def test_verify_lists_all_damage(run: Run, artefact: Path, copy: Path) -> None:
    (copy / "graph.txt").unlink()
    content = bytearray((copy / "tables/0.bin").read_bytes())
    content[-1] ^= 1
    (copy / "tables/0.bin").write_bytes(content)
    ran = run("verify", artefact, copy, "--json")
    assert ran.code == 1
    assert [found["whole"] for found in ran.document["result"]] == [True, False]
    assert [problem["id"] for problem in ran.document["problems"]] == ["SW202", "SW203"]
    assert ran.next == "swath explain SW202"


def test_a_damaged_artefact_is_not_inspected(run: Run, copy: Path) -> None:
    (copy / "graph.txt").unlink()
    ran = run("inspect", copy)
    assert ran.code == 1
    assert ran.next == f"swath verify {copy}"


def test_verify_what_is_no_artefact(run: Run, tmp_path: Path) -> None:
    ran = run("verify", tmp_path)
    assert ran.code == 2
    assert "error[SW201]" in ran.err


def test_bench_an_artefact(run: Run, artefact: Path, tmp_path: Path) -> None:
    words = ("--batches", "0,1,5", "--threads", "1,2", "--rounds", "1", "--turn", "0.02")
    path = tmp_path / "bench.json"
    ran = run("bench", artefact, *words, "--write", path, "--json")
    assert ran.code == 0, ran.err
    result = ran.document["result"]
    assert result == json.loads(path.read_text())
    assert [case["threads"] for case in result["cases"]] == [1, 2]
    timings = result["cases"][0]["peers"][0]["timings"]
    assert [timing["batch"] for timing in timings] == [0, 1, 5]
    assert all(0 < timing["low"] <= timing["median"] <= timing["high"] for timing in timings)


def test_bench_a_model_against_eager(run: Run, model: Path) -> None:
    words = ("--peers", "swath,eager", "--batches", "3", "--rounds", "1", "--turn", "0.02")
    ran = run("bench", f"{model}:make", *words)
    assert ran.code == 0, ran.err
    assert "best peer / swath" in ran.out


@pytest.mark.parametrize(
    "words", [("--batches", "1,x"), ("--threads", "0"), ("--peers", "swath,pytorch")]
)
def test_bench_with_settings_that_make_no_sense(
    run: Run, model: Path, words: tuple[str, str]
) -> None:
    ran = run("bench", f"{model}:make", *words)
    assert ran.code == 2
    assert words[0] in ran.err
