"""Generated code under the address and undefined-behaviour sanitizers.

The sanitizers must be loaded before Python, so the cases run in a process of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
         "-fno-omit-frame-pointer")  # fmt: skip


@pytest.mark.parametrize("isa", ["x86-64-v3", "x86-64-v4"])
def test_cases_run_clean(isa: str) -> None:
    """Every case of test_generated.py, every input at its exact size."""
    preload = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True,
                       check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]  # fmt: skip
    environment = {
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{ROOT}",
        # numpy's own allocator hides overruns of small arrays
        "NUMPY_MADVISE_HUGEPAGE": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.targets.sanitized", isa],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "cases ran clean" in done.stdout
