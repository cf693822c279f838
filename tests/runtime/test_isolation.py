"""What a process that only runs artefacts pays: time to import and load, memory, and no torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import handmade
from swath.artifact.envelope import seal
from swath.artifact.reader import read_manifest
from swath.artifact.tables import table_file_bytes, table_header

LARGE_ROWS = 1 << 22
LARGE_WIDTH = 64


def python(script: str, *arguments: object) -> Any:
    """What a fresh interpreter prints, as JSON."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


IMPORT = """
import json, sys, time
start = time.process_time()  # other processes on the machine don't count
import swath
print(json.dumps([time.process_time() - start, sorted(sys.modules)]))
"""


def test_importing_swath_is_cheap() -> None:
    seconds, modules = min((python(IMPORT) for _ in range(5)), key=lambda result: result[0])
    assert seconds < 0.15
    assert not {"torch", "numpy", "click", "rich"} & set(modules)


RUN = """
import json, sys
import numpy as np
import swath
with swath.load(sys.argv[1]) as program:
    program(np.ones((3, 4), np.float32))
    try:
        program([1])
    except swath.errors.InvalidInput:
        pass
print(json.dumps(sorted(sys.modules)))
"""


def test_running_an_artefact_needs_neither_torch_nor_the_compiler(scale_path: Path) -> None:
    modules = set(python(RUN, scale_path))
    assert "swath.runtime" in modules
    folders = ("frontends", "graph", "rows", "passes", "stages", "tile", "targets", "compiler")
    assert not {"torch", *(f"swath.{folder}" for folder in folders)} & modules


@pytest.fixture(scope="module")
def large_path(write: handmade.Write) -> Path:
    """An artefact with a table of 1 GB, which is a hole in a sparse file."""
    path = write(handmade.lookup_model())
    manifest = read_manifest(path)
    table = msgspec.structs.replace(manifest.tables[0], rows=LARGE_ROWS, width=LARGE_WIDTH)
    size = table_file_bytes("float32", LARGE_ROWS, LARGE_WIDTH)
    file = path / table.file
    file.write_bytes(table_header("float32", LARGE_ROWS, LARGE_WIDTH))
    os.truncate(file, size)
    files = tuple(
        msgspec.structs.replace(spec, size=size) if spec.path == table.file else spec
        for spec in manifest.files
    )
    larger = msgspec.structs.replace(manifest, tables=(table,), files=files)
    (path / "manifest.json").write_bytes(seal(larger))
    return path


LOAD = """
import json, sys, time
import swath
swath.load  # the first use imports the runtime

def memory():
    rows = [line.split() for line in open("/proc/self/smaps_rollup").read().splitlines()[1:]]
    kilobytes = {row[0]: int(row[1]) for row in rows}
    return (kilobytes["Private_Clean:"] + kilobytes["Private_Dirty:"]) / 1024

before = memory()
start = time.perf_counter()
program = swath.load(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, memory() - before, "numpy" in sys.modules]))
"""


def test_a_gigabyte_of_tables_loads_at_once(large_path: Path) -> None:
    results = [python(LOAD, large_path) for _ in range(5)]
    seconds, megabytes, numpy = min(results, key=lambda result: result[0])
    assert seconds < 0.05
    assert megabytes < 20
    assert not numpy


SHARE = """
import json, sys, mmap
import numpy as np
import swath
program = swath.load(sys.argv[1])
program(np.arange(0, 10))
if sys.argv[2] == "parent":
    import subprocess
    child = subprocess.run([sys.executable, "-c", sys.argv[3], sys.argv[1], "child"],
                           check=True, capture_output=True, text=True)
    print(child.stdout)
else:
    print(json.dumps(open("/proc/self/smaps").read()))
"""


def test_two_processes_share_the_pages(large_path: Path) -> None:
    smaps: str = python(SHARE, large_path, "parent", SHARE)
    for file in ("tables/0.bin", "weights.safetensors"):
        fields = mapping_fields(smaps, str(large_path / file))
        assert fields["Shared_Clean"] + fields["Shared_Dirty"] > 0
        assert fields["Private_Clean"] + fields["Private_Dirty"] == 0


def mapping_fields(smaps: str, path: str) -> dict[str, int]:
    """Kilobytes of one mapping, by kind."""
    lines = iter(smaps.split(path, 1)[1].splitlines()[1:])
    fields: dict[str, int] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if not value.strip().endswith("kB"):
            break
        fields[name] = int(value.split()[0])
    return fields
