"""The C++ compiler: which one there is, and one library per ISA level."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from swath.errors import EnvironmentProblem, Problem, Where

KERNELS = Path(__file__).parent / "kernels"
ABI = Path(__file__).parents[2] / "runtime" / "abi"

# -ffp-contract=off and -fno-math-errno: only written fmas, and no calls for errno;
# -fwrapv: integers wrap as PyTorch's do
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno",
         "-fwrapv", "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables",
         "-fvisibility=default", "-Wno-psabi", "-Wno-unused-function")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler command."""

    command: tuple[str, ...]

    def arguments(
        self, isa: str, source: Path, library: Path, extra: Sequence[str] = ()
    ) -> list[str]:
        """The whole command line."""
        includes = ("-I", str(source.parent))
        march = f"-march={isa}"
        if "ziglang" in self.command:
            march = f"-march={isa.replace('-', '_')}"
        return [
            *self.command,
            *FLAGS,
            march,
            *extra,
            *includes,
            str(source),
            "-o",
            str(library),
            "-lm",
        ]


def find_compiler(wanted: str = "") -> Compiler:
    """`wanted`, or g++, clang++, or the ziglang wheel. Raises EnvironmentProblem SW301."""
    if wanted:
        command = tuple(wanted.split())
        if shutil.which(command[0]):
            return Compiler(command)
        raise _missing(f"the compiler {wanted!r} is not on PATH")
    for name in ("g++", "clang++"):
        if shutil.which(name):
            return Compiler((name,))
    if find_spec("ziglang") is not None:
        return Compiler((sys.executable, "-m", "ziglang", "c++"))
    raise _missing("there is no g++, no clang++ and no ziglang wheel")


def _missing(why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            "SW301", "no C++ compiler", why, "install g++ or clang++, or: pip install 'swath[cc]'"
        )
    )


def write_sources(folder: Path, program: str) -> Path:
    """The program and every header it includes, in one folder that compiles by itself."""
    folder.mkdir(parents=True, exist_ok=True)
    for header in (*KERNELS.glob("*.h"), *ABI.glob("*.h")):
        shutil.copyfile(header, folder / header.name)
    source = folder / "program.cpp"
    source.write_text(program)
    return source


def build_libraries(
    source: Path, folder: Path, isas: Sequence[str], compiler: Compiler, extra: Sequence[str] = ()
) -> dict[str, Path]:
    """One library per ISA level, side by side. Raises EnvironmentProblem SW302."""
    folder.mkdir(parents=True, exist_ok=True)

    def build(isa: str) -> tuple[str, Path]:
        library = folder / f"{isa}.so"
        command = compiler.arguments(isa, source, library, extra)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentProblem(
                Problem(
                    "SW302",
                    f"the C++ compiler failed for {isa}",
                    done.stderr.strip()[:2000] or f"exit status {done.returncode}",
                    "try another compiler with Options(compiler=...)",
                    Where(file=str(source)),
                )
            )
        return isa, library

    with ThreadPoolExecutor(len(isas) or 1) as pool:
        return dict(pool.map(build, isas))
