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
# What a core has of the second and the last cache for one model's data, where they are 1 and 32 MB.
L2_BYTES, L3_BYTES = 768 << 10, 24 << 20
COMPILERS = ("g++", "clang++", "c++")


class ProbeError(Exception):
    """The machine could not be measured; the message says why."""


@dataclass(frozen=True)
class Machine:
    """The measured limits of one core.

    `float32_gflops` counts a multiply-add as two operations. The bandwidths are of reading, in
    gigabytes (1e9 bytes) per second; `row_nanoseconds` is what one 64-byte row costs that is read
    from a random place of a 1 GB table, many reads being under way at once, and
    `cached_row_nanoseconds` the same of a table that stays in the last cache.
    """

    processor: str
    float32_gflops: float
    l1_gbytes: float
    l2_gbytes: float
    l3_gbytes: float
    memory_gbytes: float
    cached_row_nanoseconds: float
    row_nanoseconds: float

    def arithmetic_seconds(self, flops: float) -> float:
        """The least time that `flops` operations take on one core."""
        return flops / (self.float32_gflops * 1e9)

    def weight_seconds(self, size: float) -> float:
        """The least time in which `size` bytes that every call reads come to one core."""
        if size <= L2_BYTES:
            return size / (self.l2_gbytes * 1e9)
        return size / ((self.l3_gbytes if size <= L3_BYTES else self.memory_gbytes) * 1e9)

    def row_seconds(self, lines: float, touched: float) -> float:
        """The least time that `lines` cache lines of table rows take.

        `touched` bytes are read over many calls: if they fit the last cache they stay there.
        """
        each = self.cached_row_nanoseconds if touched <= L3_BYTES else self.row_nanoseconds
        return lines * each * 1e-9


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
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProbeError(f"`{command[0]}` can't be run: {error}") from error
    if done.returncode != 0:
        raise ProbeError(f"`{command[0]}` failed: {done.stderr.strip()[:300]}")
    return done.stdout
