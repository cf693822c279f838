"""A call in steady state allocates nothing on the heap: counted by a library that stands before
malloc.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = """
#include <atomic>
#include <cstddef>
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
static std::atomic<long> count{0};
long allocations() { return count.load(); }
void* malloc(size_t size) { ++count; return __libc_malloc(size); }
void* calloc(size_t number, size_t size) { ++count; return __libc_calloc(number, size); }
void* realloc(void* old, size_t size) { ++count; return __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { ++count; return __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}
"""

SCRIPT = """
import ctypes, json, sys
import numpy as np
import swath

allocations = ctypes.CDLL(None).allocations
allocations.restype = ctypes.c_long

def counted(call):
    for _ in range(50):
        call()
    before = allocations()
    for _ in range(1000):
        call()
    return allocations() - before

scale = swath.load(sys.argv[1], threads=2)
bag = swath.load(sys.argv[2], threads=2)
results = {}
for rows in (1, 16, 1000):
    x = np.ones((rows, 4), np.float32)
    y = np.empty((rows, 1), np.float32)
    inputs, outputs = [x], [y]
    results[f"into, {rows} rows"] = counted(lambda: scale.run_into(inputs, outputs))
    strided = [np.ones((rows, 8), np.float32)[:, ::2]]
    results[f"into, {rows} strided rows"] = counted(lambda: scale.run_into(strided, outputs))
    values, offsets = np.ones(3 * rows), np.arange(rows) * 3
    bags, sums = (values, offsets), (np.empty(rows),)
    results[f"into, {rows} bags"] = counted(lambda: bag.run_into(bags, sums))
x1 = np.ones((1, 4), np.float32)
results["call, 1 row"] = counted(lambda: scale(x1))
results["one of our own"] = counted(lambda: np.empty(100_000)) > 0
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counter")
    source, library = folder / "counter.cpp", folder / "counter.so"
    source.write_text(COUNTER)
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


def test_steady_state_allocates_nothing(counter: Path, scale_path: Path, bag_path: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(counter)}
    command = [sys.executable, "-c", SCRIPT, str(scale_path), str(bag_path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    results = json.loads(run.stdout)
    assert results.pop("one of our own") is True  # the counter counts
    assert len(results) == 10
    assert {name: count for name, count in results.items() if count} == {}
