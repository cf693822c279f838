"""How the time of a call is spread over its kernels.

The generated source is built once more with a read of the processor's time stamp around every
kernel, and put into a copy of the artefact; the copy runs on synthetic inputs. What is told is each
kernel's share of the ticks: the reads themselves cost some 20 ns each, so that the shares of tiny
kernels at batch 1 are too large.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import tempfile
from pathlib import Path

from msgspec.structs import replace

from swath.artifact.envelope import seal
from swath.artifact.manifest import FileSpec, Manifest
from swath.artifact.publish import MANIFEST_FILE, copy_artifact
from swath.artifact.writer import library_file
from swath.errors import EnvironmentProblem
from swath.report.program_bench import time_program
from swath.runtime import load
from swath.targets.cpu.build import build_libraries, find_compiler, write_sources

_SECONDS = 0.5
_CALL = re.compile(r"^  \w+\(.*\);$")
_TICKS = """\
// The fewest ticks that each kernel took over a few swaths of the same size: the average evens out
// what is in the caches, the minimum leaves out swaths in which something else had the processor.
constexpr int TICK_SWATHS = 4;
extern "C" {{
unsigned long long swath_ticks[{kernels}];
}}
static unsigned long long recent_ticks[{kernels}];
static long recent_rows, recent_swaths;

static unsigned long long read_ticks() {{
  asm volatile("" : : : "memory");
  const unsigned long long ticks = __builtin_ia32_rdtsc();
  asm volatile("" : : : "memory");
  return ticks;
}}

// Whether a swath counts: those of the largest size do.
static bool begin_ticks(long rows) {{
  if (rows < recent_rows) return false;
  if (rows == recent_rows && ++recent_swaths <= TICK_SWATHS) return true;
  for (int i = 0; i < {kernels}; ++i) {{
    const bool fewer = recent_ticks[i] < swath_ticks[i] || !swath_ticks[i];
    if (rows > recent_rows) swath_ticks[i] = 0;
    else if (fewer) swath_ticks[i] = recent_ticks[i];
    recent_ticks[i] = 0;
  }}
  recent_rows = rows;
  recent_swaths = 1;
  return true;
}}

"""


def kernel_shares(path: Path, manifest: Manifest, kernels: int, batch: int) -> list[float]:
    """The share of each kernel in the time of a call of `batch` rows on one thread.

    Empty where the source of the artefact can't be taken apart, or not be built any more.
    """
    source = path / "source" / "program.cpp"
    text = with_ticks(source.read_text() if source.is_file() else "", kernels)
    if not text:
        return []
    with load(path, threads=1) as program:
        isa = program.isa
    with tempfile.TemporaryDirectory(prefix="swath-profile-") as folder:
        built = write_sources(Path(folder) / "source", text)
        try:
            library = build_libraries(built, Path(folder) / "lib", [isa], find_compiler())[isa]
        except EnvironmentProblem:
            return []
        copy = _with_library(path, Path(folder) / "copy.swath", manifest, isa, library)
        with load(copy, threads=1) as program:
            time_program(program, batch, _SECONDS)
            ticks = _read_ticks(copy / program.manifest.libraries[0].file, kernels)
    total = sum(ticks)
    return [count / total for count in ticks] if total else []


def with_ticks(source: str, kernels: int) -> str:
    """The program with a tick behind every kernel; empty if it doesn't hold that many calls."""
    before, start, rest = source.partition("static void run_rows(")
    head, opening, rest = rest.partition("{\n")
    body, end, after = rest.partition("\n}")
    lines = [
        "  const bool ticking = begin_ticks(rows);",
        "  unsigned long long tick = read_ticks(), tock;",
    ]
    number = 0
    for line in body.splitlines():
        lines.append(line)
        if _CALL.match(line):
            lines.append("  tock = read_ticks();")
            lines.append(f"  if (ticking) recent_ticks[{number}] += tock - tick;")
            lines.append("  tick = read_ticks();")
            number += 1
    if number != kernels or not kernels:
        return ""
    ticks = _TICKS.format(kernels=kernels)
    return before + ticks + start + head + opening + "\n".join(lines) + end + after


def _with_library(path: Path, copy: Path, manifest: Manifest, isa: str, library: Path) -> Path:
    """A copy of an artefact that holds this library alone."""
    copy_artifact(path, copy, overwrite=False, link=True)
    content = library.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    name = library_file(isa, digest)
    (copy / name).write_bytes(content)
    (known,) = [spec for spec in manifest.libraries if spec.isa == isa]
    spec = replace(known, file=name)
    old = {library.file for library in manifest.libraries}
    files = [file for file in manifest.files if file.path not in old]
    files.append(FileSpec(path=name, size=len(content), sha256=digest))
    changed = replace(manifest, libraries=(spec,), files=tuple(files))
    # Not over the old file: it may be the same one as the original's.
    (copy / MANIFEST_FILE).unlink()
    (copy / MANIFEST_FILE).write_bytes(seal(changed))
    return copy


def _read_ticks(library: Path, kernels: int) -> list[int]:
    """The counters of a library that this process has loaded."""
    counters = (ctypes.c_ulonglong * kernels).in_dll(ctypes.CDLL(str(library)), "swath_ticks")
    return [int(count) for count in counters]
