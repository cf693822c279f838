"""Whether this machine and environment can compile and run models, and what to do where not."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from swath.artifact.manifest import ISA_REQUIREMENTS
from swath.errors import SwathError
from swath.report.bench_result import processor_name
from swath.report.table import columns, size_text
from swath.version import VERSION

Status = Literal["ok", "note", "problem"]
PYTHON_NEEDED = (3, 11)
TORCH_NEEDED = (2, 10)
PEERS = ("onnxruntime", "openvino", "zentorch")
# What a compilation may write to the temporary folder besides the tables.
FREE_NEEDED = 256 << 20


class Check(msgspec.Struct, frozen=True):
    """One line: "ok", "note" (only some commands need it) or "problem", and how to repair it."""

    name: str
    status: Status
    found: str
    fix: str = ""


class Diagnosis(msgspec.Struct, frozen=True):
    """All checks; `healthy` if none is a problem."""

    healthy: bool
    checks: tuple[Check, ...]


def diagnose() -> Diagnosis:
    """Runs every check; takes about a second."""
    checks = tuple(_checks())
    return Diagnosis(all(check.status != "problem" for check in checks), checks)


def diagnosis_text(found: Diagnosis) -> str:
    """A line a check, the fix below it."""
    lines: list[str] = []
    heads = columns([[check.status, check.name] for check in found.checks], left=(0, 1))
    width = max(map(len, heads))
    for head, check in zip(heads, found.checks, strict=True):
        lines.append(f"{head.ljust(width)}  {check.found}")
        if check.fix:
            lines.append(f"{' ' * width}  fix: {check.fix}")
    return "\n".join(lines)


def _checks() -> Iterator[Check]:
    yield _python()
    yield Check("swath", "ok", f"{VERSION} in {Path(__file__).parents[1]}")
    yield _runtime()
    yield from _processor()
    yield _compiler()
    yield _torch()
    yield _peers()
    yield _cpus()
    yield _memory()
    yield _temporary()


def _python() -> Check:
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info >= PYTHON_NEEDED:
        return Check("python", "ok", found)
    return Check("python", "problem", found, "install Python 3.11 or newer")


def _runtime() -> Check:
    try:
        from swath.runtime import _native
    except ImportError as error:
        return Check("runtime", "problem", f"the extension can't be loaded: {error}",
                     "pip install --force-reinstall swath")  # fmt: skip
    return Check("runtime", "ok", f"ABI {_native.ABI_VERSION}, numpy {metadata.version('numpy')}")


def _processor() -> Iterator[Check]:
    from swath.runtime import _native

    features = set(_native.cpu_features())
    yield Check("cpu", "ok", f"{processor_name()} ({platform.system()} {platform.machine()})")
    levels = [isa for isa, needed in ISA_REQUIREMENTS.items() if features.issuperset(needed)]
    extras = sorted(
        name for name in features if name.startswith(("avx512bf", "avx512vnni", "avx512fp", "amx"))
    )
    also = f"; also {', '.join(extras)}" if extras else ""
    if levels:
        yield Check("isa", "ok", f"{', '.join(levels)}{also}")
        return
    lacking = sorted(set(next(iter(ISA_REQUIREMENTS.values()))) - features)
    yield Check(
        "isa",
        "problem",
        f"no level that swath compiles for; lacks {', '.join(lacking)}",
        "use a CPU with AVX2 (x86-64-v3); in a virtual machine, pass the host's CPU through",
    )


def _compiler() -> Check:
    from swath.targets.cpu.build import find_compiler

    try:
        compiler = find_compiler()
    except SwathError as error:
        return Check("compiler", "problem", error.problem.why, error.problem.fix)
    name = " ".join(compiler.command)
    done = _run([*compiler.command, "--version"])
    version = done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else "?"
    failed = _compile_and_load(compiler.command)
    if failed:
        return Check("compiler", "problem", f"{name} ({version}): {failed}",
                     "install g++ or clang++ anew, or: pip install 'swath[cc]'")  # fmt: skip
    return Check("compiler", "ok", f"{name}: {version}; builds and loads a library")


def _compile_and_load(command: tuple[str, ...]) -> str:
    """Why a library can't be built and loaded; empty if it can."""
    with tempfile.TemporaryDirectory(prefix="swath-doctor-") as folder:
        source, library = Path(folder) / "probe.cpp", Path(folder) / "probe.so"
        source.write_text('extern "C" int swath_probe() { return 42; }\n')
        done = _run([*command, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)])
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            return f"it fails: {said[0] if said else f'exit status {done.returncode}'}"
        try:
            answer = ctypes.CDLL(str(library)).swath_probe()
        except OSError as error:
            return f"its library can't be loaded (is {folder} mounted noexec?): {error}"
    return "" if answer == 42 else "its library computes something wrong"


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _torch() -> Check:
    version = _version("torch")
    if version is None:
        return Check("torch", "note", "not installed: artefacts run, models can't be compiled",
                     "pip install 'swath[torch]'")  # fmt: skip
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    if numbers >= TORCH_NEEDED:
        return Check("torch", "ok", version)
    return Check("torch", "problem", f"{version} is too old to import models",
                 "pip install --upgrade 'swath[torch]'")  # fmt: skip


def _peers() -> Check:
    versions = {name: _version(name) for name in PEERS}
    found = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    if all(versions.values()):
        return Check("peers", "ok", found)
    return Check("peers", "note", f"{found} (only `swath bench` uses them)",
                 "pip install 'swath[bench]'")  # fmt: skip


def _version(package: str) -> str | None:
    if find_spec(package) is None:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpus() -> Check:
    usable = len(os.sched_getaffinity(0))
    found = f"{usable} of {os.cpu_count()} CPUs usable"
    quota = cpu_quota(Path("/sys/fs/cgroup"))
    if quota is None:
        return Check("threads", "ok", found)
    found += f", the container may use {quota:.2g}"
    if quota >= usable:
        return Check("threads", "ok", found)
    return Check("threads", "note", found,
                 f"load with threads={max(1, int(quota))}: more would be throttled")  # fmt: skip


def cpu_quota(cgroup: Path) -> float | None:
    """The CPUs that the container's quota allows; None without a quota."""
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)


def memory_limit(cgroup: Path) -> int | None:
    """The container's limit of memory in bytes; None without one."""
    try:
        text = (cgroup / "memory.max").read_text().strip()
    except OSError:
        return None
    return None if text == "max" else int(text)


def _memory() -> Check:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return Check("memory", "note", "unknown on this system")
    sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
    free = sizes.get("MemAvailable", 0)
    found = f"{size_text(free)} available of {size_text(sizes['MemTotal'])}"
    limit = memory_limit(Path("/sys/fs/cgroup"))
    if limit is not None and limit < sizes["MemTotal"]:
        found += f", the container may use {size_text(limit)}"
    return Check("memory", "ok", found)


def _temporary() -> Check:
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    found = f"{size_text(free)} free in {folder}"
    if free >= FREE_NEEDED:
        return Check("temporary", "ok", found)
    return Check("temporary", "problem", f"only {found}",
                 "free space there, or set TMPDIR to a larger folder")  # fmt: skip
