"""What this machine can do at most, measured: multiply-adds, and bytes from each level of memory.

A small C++ program is compiled for the machine at hand and run on one thread. The numbers are what
a kernel can be held against.
"""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from swath.report.bench_result import processor_name

SOURCE = Path(__file__).with_name("machine_probe.cc")
COMPILERS = ("g++", "clang++", "c++")


class ProbeError(Exception):
    """The machine could not be measured; the message says why."""


@dataclass(frozen=True)
class Machine:
    """The measured limits of one core.

    `float32_gflops` counts a multiply-add as two operations. The bandwidths are of reading, in
    gigabytes (1e9 bytes) per second; `row_nanoseconds` is what one 64-byte row costs that is read
    from a random place of a 1 GB table, many reads being under way at once.
    """

    processor: str
    float32_gflops: float
    l1_gbytes: float
    l2_gbytes: float
    memory_gbytes: float
    row_nanoseconds: float

    def arithmetic_seconds(self, flops: float) -> float:
        """The least time that `flops` operations take on one core."""
        return flops / (self.float32_gflops * 1e9)

    def memory_seconds(self, size: float) -> float:
        """The least time in which `size` bytes come from memory to one core."""
        return size / (self.memory_gbytes * 1e9)


def measure_machine(compiler: str | None = None, rounds: int = 3) -> Machine:
    """Measures this machine in about two seconds, the best of `rounds`. Raises ProbeError."""
    command = compiler or next((name for name in COMPILERS if shutil.which(name)), None)
    if command is None:
        raise ProbeError(f"no C++ compiler found (looked for {', '.join(COMPILERS)})")
    with tempfile.TemporaryDirectory(prefix="swath-machine-") as folder:
        program = Path(folder) / "probe"
        _run([command, "-O3", "-march=native", "-std=c++17", str(SOURCE), "-o", str(program)])
        found = cast(dict[str, float], json.loads(_run([str(program), str(rounds)])))
    return Machine(processor_name(), **found)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProbeError(f"`{command[0]}` failed: {done.stderr.strip()[:300]}")
    return done.stdout
