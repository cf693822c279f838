"""The kernels built for every ISA level of this machine, by every compiler that it has."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.targets.cpu.build import Compiler, write_sources

Floats = npt.NDArray[np.float32]
HERE = Path(__file__).parent


def isas() -> list[str]:
    """The ISA levels that this machine can run."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return ["x86-64-v3", *(["x86-64-v4"] if "avx512vl" in flags else [])]


def compilers() -> Iterator[Compiler]:
    """g++ first; clang or zig's clang where there is one."""
    yield Compiler(("g++",))
    if which("clang++"):
        yield Compiler(("clang++",))
    elif find_spec("ziglang") is not None:
        yield Compiler((sys.executable, "-m", "ziglang", "c++"))


class Kernels:
    """One build of exports.cpp. Arrays are passed by pointer, ints as long, floats as float."""

    def __init__(self, name: str, library: Path) -> None:
        self.name = name
        self._library = ctypes.CDLL(str(library))

    def call(self, function: str, *arguments: npt.NDArray[Any] | int | float | None) -> None:
        """Call a function that returns nothing."""
        self._library[function](*map(_argument, arguments))

    def number(self, function: str, *arguments: npt.NDArray[Any] | int) -> np.float32:
        """Call a function that returns a float."""
        pointer = self._library[function]
        pointer.restype = ctypes.c_float
        return np.float32(pointer(*map(_argument, arguments)))

    def integer(self, function: str, *arguments: float) -> int:
        """Call a function that returns a long."""
        pointer = self._library[function]
        pointer.restype = ctypes.c_long
        return int(pointer(*map(_argument, arguments)))

    def unary(self, function: str, x: Floats) -> Floats:
        """An element-wise function of one array."""
        out = np.empty_like(x)
        self.call(f"unary_{function}", out, x, x.size)
        return out

    def binary(self, function: str, x: Floats, y: Floats) -> Floats:
        """An element-wise function of two arrays."""
        out = np.empty_like(x)
        self.call(f"binary_{function}", out, x, y, x.size)
        return out


def _argument(value: npt.NDArray[Any] | int | float | None) -> Any:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, float):
        return ctypes.c_float(value)
    return ctypes.c_void_p(None) if value is None else ctypes.c_long(value)


def build(
    compiler: Compiler, isa: str, source: Path, folder: Path, extra: Sequence[str] = ()
) -> Path:
    """Compile one file with the flags of generated code; `extra` come after these."""
    place = write_sources(folder, source.read_text())
    result = folder / isa
    subprocess.run(compiler.arguments(isa, place, result, extra), check=True, text=True)
    return result
