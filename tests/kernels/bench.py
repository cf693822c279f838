"""Speed of the kernels against the machine's measured float32 peak, for every ISA level it has.

python -m tests.kernels.bench [linear|left|scores|dots|functions|bags]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from swath.targets.cpu.build import write_sources
from tests.kernels.built import HERE, isas

FLAGS = ("-O3", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fwrapv", "-Wno-psabi")


def main(arguments: list[str]) -> int:
    """Compile bench.cpp for each ISA level and run it."""
    with tempfile.TemporaryDirectory() as folder:
        source = write_sources(Path(folder), (HERE / "bench.cpp").read_text())
        for isa in isas():
            program = Path(folder) / isa
            command = ["g++", *FLAGS, f"-march={isa}", str(source), "-o", str(program)]
            subprocess.run(command, check=True)
            subprocess.run([str(program), *arguments[:1]], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
