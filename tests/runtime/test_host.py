"""The C ABI is enough: a host in C++ runs an artefact without Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import handmade
from swath.artifact.reader import read_manifest

HOST = Path(__file__).parents[2] / "examples" / "host.cpp"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("host") / "host"
    command = ["g++", "-std=c++17", "-Wall", "-Werror", f"-I{handmade.ABI_FOLDER}", str(HOST)]
    subprocess.run([*command, "-o", str(program), "-ldl"], check=True)
    return program


def run(host: Path, artefact: Path, ids: list[int]) -> subprocess.CompletedProcess[str]:
    manifest = read_manifest(artefact)
    files = (manifest.libraries[0].file, manifest.weights.file, manifest.tables[0].file)
    paths = [str(artefact / file) for file in files]
    command = [str(host), *paths, str(manifest.tables[0].width), *map(str, ids)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_host_in_c_plus_plus(host: Path, lookup_path: Path) -> None:
    result = run(host, lookup_path, [3, 1])
    assert result.stdout == "15 16 17 18 19\n5 6 7 8 9\n"


def test_a_host_in_c_plus_plus_gets_faults(host: Path, lookup_path: Path) -> None:
    result = run(host, lookup_path, [3, 1 << 40])
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"row 1: the id {1 << 40} is outside of its table\n"
