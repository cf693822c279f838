"""The kernels under AddressSanitizer and UBSan."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swath.targets.cpu.build import write_sources
from tests.kernels.built import HERE, isas

FLAGS = ("-std=c++17", "-O1", "-g", "-Wno-psabi", "-ffp-contract=off",
         "-fsanitize=address,undefined", "-fno-sanitize-recover=all")  # fmt: skip


@pytest.mark.parametrize("isa", isas())
def test_clean_under_sanitizers(tmp_path: Path, isa: str) -> None:
    source = write_sources(tmp_path, (HERE / "sanitized.cpp").read_text())
    program = tmp_path / "sanitized"
    command = ["g++", *FLAGS, f"-march={isa}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "clean\n"), done.stderr[-3000:]
