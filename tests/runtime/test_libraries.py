"""Choosing a library for the CPU, and refusing one that can't be loaded."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import msgspec
import numpy as np
import pytest

import handmade
from swath.artifact.contents import Library
from swath.artifact.manifest import ISA_REQUIREMENTS, Manifest
from swath.artifact.reader import read_manifest
from swath.artifact.writer import write_artifact
from swath.errors import EnvironmentProblem, InvalidArtifact, SwathError
from swath.runtime import load
from swath.runtime._native import cpu_features
from swath.runtime.program import choose_library, load_temporary

V3 = frozenset(ISA_REQUIREMENTS["x86-64-v3"])
V4 = frozenset(ISA_REQUIREMENTS["x86-64-v4"])


@pytest.fixture(scope="module")
def two(scale_path: Path) -> Manifest:
    """A manifest with libraries for v3 and v4."""
    manifest = read_manifest(scale_path)
    low = manifest.libraries[0]
    high = msgspec.structs.replace(low, isa="x86-64-v4", requires=ISA_REQUIREMENTS["x86-64-v4"])
    return msgspec.structs.replace(manifest, libraries=(low, high))


def test_the_best_library_that_the_cpu_can_run_is_taken(two: Manifest) -> None:
    assert choose_library(two, V3).isa == "x86-64-v3"
    assert choose_library(two, V4).isa == "x86-64-v4"
    assert choose_library(two, V4, "x86-64-v3").isa == "x86-64-v3"
    assert choose_library(two, V4 - {"avx512vl"}).isa == "x86-64-v3"


def test_a_cpu_that_can_run_none_is_told_what_it_lacks(two: Manifest) -> None:
    with pytest.raises(EnvironmentProblem, match=r"(?s)SW310.*lacks avx2, fma"):
        choose_library(two, V3 - {"avx2", "fma"})
    with pytest.raises(EnvironmentProblem, match="no library for x86-64-v4"):
        choose_library(two, V3, "x86-64-v4")
    with pytest.raises(EnvironmentProblem, match="holds libraries for x86-64-v3, x86-64-v4 only"):
        choose_library(two, V4, "sparc")


def test_the_features_are_those_that_the_system_reports() -> None:
    flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    renamed = {"lzcnt": "abm", "avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16"}
    for feature in cpu_features():
        assert renamed.get(feature, feature.replace("-", "_")) in flags
    for feature in V4:
        assert (feature in cpu_features()) == (renamed.get(feature, feature) in flags)


@pytest.mark.parametrize("content", [b"", b"\x7fELF but not really", b"MZ" * 100])
def test_a_library_of_another_system_is_refused(tmp_path: Path, content: bytes) -> None:
    contents = handmade.contents(handmade.scale_model(), tmp_path)
    foreign = dataclasses.replace(contents, libraries=[Library("x86-64-v3", content, 0)])
    path = write_artifact(tmp_path / "foreign.swath", foreign)
    with pytest.raises(InvalidArtifact, match="SW210"):
        load(path)


def test_a_library_of_another_abi_is_refused(tmp_path: Path) -> None:
    contents = handmade.contents(handmade.scale_model(), tmp_path, abi=2)
    path = write_artifact(tmp_path / "abi.swath", contents)
    with pytest.raises(InvalidArtifact, match="another version of the swath ABI"):
        load(path)


def test_a_library_with_senseless_scratch_is_refused(tmp_path: Path) -> None:
    contents = handmade.contents(handmade.scale_model(), tmp_path, scratch=-1)
    path = write_artifact(tmp_path / "scratch.swath", contents)
    with pytest.raises(InvalidArtifact, match="negative amount of scratch"):
        load(path)


def test_a_library_that_fails_silently_is_told(write: handmade.Write) -> None:
    model = dataclasses.replace(handmade.scale_model(), body="return 1;")
    with pytest.raises(SwathError, match="SW910"):
        load(write(model))(np.ones((1, 4), np.float32))


def test_a_new_library_at_an_old_path_is_really_loaded(tmp_path: Path) -> None:
    x = np.ones((1, 4), np.float32)
    model = handmade.scale_model()
    path = write_artifact(tmp_path / "m.swath", handmade.contents(model, tmp_path))
    first = load(path)
    doubled = dataclasses.replace(model, body=model.body.replace("sum *", "2 * sum *"))
    write_artifact(path, handmade.contents(doubled, tmp_path), overwrite=True)
    assert (first(x).item(), load(path)(x).item()) == (4, 8)


def test_a_temporary_artefact_vanishes_with_its_program(tmp_path: Path) -> None:
    contents = handmade.contents(handmade.lookup_model(), tmp_path)
    path = write_artifact(tmp_path / "temporary.swath", contents)
    program = load_temporary(path)
    saved = program.save(tmp_path / "saved.swath")
    program.close()
    assert not path.exists()
    assert load(saved, verify="full")(np.array([2]))[0, 0] == 10
    second = load_temporary(saved)
    del second
    assert not saved.exists()


def test_a_program_cant_be_pickled(scale_path: Path) -> None:
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(load(scale_path))
