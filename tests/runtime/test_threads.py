"""Many threads, one program: the same scores, no lock-ups, and a close that waits for nobody
wrongly.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import handmade
from swath.errors import InvalidArtifact, InvalidInput, ProgramClosed
from swath.runtime import Program, load
from swath.runtime._native import cpu_count, helper_threads

SLOW_BODY = """
    const float* x = (const float*)((const char*)call->inputs[0] + row * call->input_row_bytes[0]);
    float* scratch = (float*)call->scratch;
    for (int i = 0; i < 16; ++i) scratch[i] = x[0];
    for (int i = 0; i < ROUNDS; ++i) scratch[i % 16] = scratch[(i + 15) % 16] * 0.5f + x[i % 4];
    ((float*)call->outputs[0])[row] = scratch[(ROUNDS - 1) % 16];
"""


def slow_model(rounds: int) -> handmade.Model:
    """A model that takes a while per row and keeps its numbers in scratch."""
    model = handmade.scale_model()
    return handmade.Model(
        body=SLOW_BODY.replace("ROUNDS", str(rounds)), inputs=model.inputs, outputs=model.outputs
    )


@pytest.fixture(scope="module")
def slow_path(write: handmade.Write) -> Path:
    return write(slow_model(4000))


X = np.random.default_rng(3).random((1000, 4), np.float32)


def in_parallel(count: int, work: Callable[[int], object]) -> list[object]:
    with ThreadPoolExecutor(count) as executor:
        return list(executor.map(work, range(count)))


def test_scores_dont_depend_on_the_number_of_threads(slow_path: Path) -> None:
    alone = load(slow_path, threads=1)(X)
    for threads in (2, 3, 8):
        program = load(slow_path, threads=threads)
        assert program.threads == threads
        for rows in (1, 63, 64, 65, 129, 1000):
            assert np.array_equal(program(X[:rows]), alone[:rows])


def test_helpers_are_bounded_by_the_cpus(slow_path: Path) -> None:
    program = load(slow_path, threads=64)
    in_parallel(4, lambda _: program(X))
    assert helper_threads() <= cpu_count() - 1


def test_many_threads_call_one_program(slow_path: Path) -> None:
    program = load(slow_path, threads=2)
    expected = load(slow_path, threads=1)(X)

    def work(seed: int) -> bool:
        random = np.random.default_rng(seed)
        for _ in range(15):
            begin, end = sorted(random.integers(0, 1001, 2))
            if not np.array_equal(program(X[begin:end]), expected[begin:end]):
                return False
        return True

    assert all(in_parallel(8, work))


def test_the_gil_is_released(write: handmade.Write) -> None:
    program = load(write(slow_model(40_000)), threads=1)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    program(X)
    done.set()
    thread.join()
    assert ticks > 3


def test_the_first_fault_is_told_whatever_the_threads(lookup_path: Path) -> None:
    program = load(lookup_path, threads=4)
    ids = np.zeros(3000, np.int64)
    ids[[700, 1500, 2999]] = [77, 88, 99]
    for _ in range(20):
        with pytest.raises(InvalidInput, match="the id 77 is outside"):
            program(ids)


def test_closing_while_others_call(slow_path: Path) -> None:
    expected = load(slow_path, threads=1)(X)
    for delay in (0.0, 0.001, 0.003):
        program = load(slow_path, threads=2)
        started = threading.Barrier(4)

        def work(_: int, program: Program = program, started: threading.Barrier = started) -> bool:
            started.wait()
            try:
                for _ in range(1000):
                    assert np.array_equal(program(X), expected)
            except ProgramClosed:
                return True
            return False

        with ThreadPoolExecutor(3) as executor:
            results = [executor.submit(work, index) for index in range(3)]
            started.wait()
            time.sleep(delay)
            program.close()
            assert all(result.result() for result in results)
        with pytest.raises(ProgramClosed, match="SW114"):
            program(X)


def test_close_gives_back_the_files(write: handmade.Write) -> None:
    path = write(handmade.scale_model())
    program = load(path)
    assert mapped(path)
    with program as same:
        assert same is program
    program.close()
    assert not mapped(path)
    assert "closed" in repr(program)
    assert program.threads == 0
    with pytest.raises(ProgramClosed):
        program.save(path.parent / "copy.swath")


def test_a_forgotten_program_gives_back_the_files(write: handmade.Write) -> None:
    path = write(handmade.scale_model())
    program = load(path)
    assert mapped(path)
    del program
    assert not mapped(path)


def mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes_with_threads_of_its_own(slow_path: Path) -> None:
    program = load(slow_path, threads=2)
    expected = program(X)
    child = os.fork()
    if child == 0:
        fine = np.array_equal(program(X), expected)
        os._exit(0 if fine else 1)
    deadline = time.monotonic() + 30
    status = (0, 0)
    while status[0] == 0 and time.monotonic() < deadline:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    assert status == (child, 0)


def test_arguments_of_load(scale_path: Path) -> None:
    with pytest.raises(InvalidInput, match="SW118"):
        load(scale_path, threads=0)
    with pytest.raises(InvalidInput, match="SW118"):
        load(scale_path, verify="none")  # pyright: ignore[reportArgumentType]
    assert load(str(scale_path), isa="x86-64-v3", verify="full").isa == "x86-64-v3"
    with pytest.raises(InvalidArtifact, match="SW201"):
        load(scale_path / "lib")
