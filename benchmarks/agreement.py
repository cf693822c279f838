"""Whether swath's scores agree with eager PyTorch, on every model of the suite.

    python -m benchmarks.agreement [MODEL ...]

For each model, at batches 0, 1, 7, 64 and 1000: the largest difference from eager in float32, and
the error against eager in float64 beside eager's own. Then whether the scores of a row are the
same, bit for bit, at every batch, position and thread count. Writes docs/agreement.md when all
models are run; exits with 1 if one fails. Each model runs in a process of its own, so that a crash
costs one line.
"""

import argparse
import copy
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.models import MODELS, TAKE_ROWS, TakeRows, take_leading_rows
from swath.report.bench_case import tree_leaves, tree_map
from swath.report.bench_result import describe_machine, describe_packages
from swath.report.bench_table import markdown
from swath.report.bench_worker import reason_of

BATCHES = (0, 1, 7, 64, 1000)
THREADS = (1, 2)
# Slices of the batch of 1000 that are scored on their own: first and last row, whole and odd
# swaths.
SLICES = ((0, 1), (17, 18), (999, 1000), (3, 10), (5, 69), (1, 1000))
ABSOLUTE, RELATIVE = 1e-5, 1e-4
# Against float64 our error may be this many times eager's own, or this many float32 roundings of
# the largest score where eager happens to be exact.
FACTOR, ROUNDINGS = 4.0, 4.0
PAGE = Path(__file__).parents[1] / "docs" / "agreement.md"
LIMIT_SECONDS = 600
EXPLANATION = """\
# Agreement with eager PyTorch

Written by `python -m benchmarks.agreement`: {good} of {count} models agree.
Machine: {processor}; {versions}.

- **difference**: the largest absolute difference from eager in float32 over batches {batches}; a
  model agrees if every score is within {absolute:g} plus {relative:g} of its size.
- **error** and **eager's error**: the largest absolute difference from eager in float64; ours may
  be {factor:g} times eager's, or {roundings:g} roundings of the largest score.
- **rows identical**: whether the scores of a row are the same, bit for bit, alone, in slices of
  other lengths at other positions, and on one thread and two.
- Where eager can't run a batch of 0 or 1, the same rows of a larger batch are the reference.
"""

Inputs: TypeAlias = tuple[Any, ...]
Arrays: TypeAlias = list[NDArray[Any]]
Call: TypeAlias = Callable[[Inputs], Arrays]


@dataclass
class Agreement:
    """What was found for one model; it passes when `problems` is empty.

    `error` and `eager_error` are against eager in float64, whose largest score is `largest`.
    """

    model: str
    difference: float = 0.0
    error: float = 0.0
    eager_error: float = 0.0
    largest: float = 0.0
    rows_identical: bool = True
    compile_seconds: float = 0.0
    problems: list[str] = field(default_factory=list[str])


def arrays_of(outputs: Any) -> Arrays:
    """The leaves of a call's outputs as NumPy arrays."""
    return [np.asarray(leaf) for leaf in tree_leaves(outputs)]


def in_float64(model: nn.Module) -> Call:
    """Eager in float64, on the same inputs."""
    wide = copy.deepcopy(model).double()

    def widened(leaf: Any) -> Any:
        return leaf.double() if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf

    return lambda inputs: arrays_of(wide(*tree_map(widened, inputs)))


def expected(call: Call, inputs: Inputs, batch: int, larger: Inputs) -> Arrays:
    """The outputs of the first `batch` rows of `larger`, which `inputs` holds.

    Some models don't run in eager at batch 0 or 1: these rows are then taken from the larger batch.
    """
    try:
        return call(inputs)
    except (RuntimeError, IndexError):
        return [array[:batch] for array in call(larger)]


def compare(found: Agreement, batch: int, ours: Arrays, eager: Arrays, wide: Arrays) -> None:
    """Adds what one batch shows to `found`."""
    shapes = [array.shape for array in ours]
    if shapes != [array.shape for array in eager]:
        found.problems.append(f"batch {batch}: outputs of shapes {shapes} differ from eager's")
        return
    for mine, theirs, exact in zip(ours, eager, wide, strict=True):
        if mine.size:
            compare_output(found, batch, mine, theirs, exact)


def compare_output(
    found: Agreement, batch: int, ours: NDArray[Any], eager: NDArray[Any], wide: NDArray[Any]
) -> None:
    """Adds what one output shows to `found`."""
    difference = np.abs(ours.astype(np.float64) - eager)
    found.difference = max(found.difference, float(difference.max()))
    found.error = max(found.error, float(np.abs(ours - wide).max()))
    found.eager_error = max(found.eager_error, float(np.abs(eager - wide).max()))
    found.largest = max(found.largest, float(np.abs(wide).max()))
    # Written so that a NaN fails.
    if not bool((difference <= ABSOLUTE + RELATIVE * np.abs(eager)).all()):
        found.problems.append(f"batch {batch}: differs from eager by {difference.max():.1e}")


def compare_errors(found: Agreement) -> None:
    """Holds our error against float64, over all batches, against eager's."""
    rounding = float(np.finfo(np.float32).eps) / 2 * found.largest
    if not found.error <= max(FACTOR * found.eager_error, ROUNDINGS * rounding):
        found.problems.append("the error is more than eager's by a factor")


def same_bits(left: Arrays, right: Sequence[NDArray[Any]]) -> bool:
    """Whether all arrays are equal, bit for bit."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


def compare_rows(
    found: Agreement, calls: dict[int, Call], whole: Inputs, take_rows: TakeRows
) -> None:
    """Compares the scores of rows in one batch with the scores of the same rows elsewhere."""
    scores = calls[THREADS[0]](whole)
    for threads, call in calls.items():
        if not same_bits(call(whole), scores):
            found.problems.append(f"scores at {threads} threads differ from those at {THREADS[0]}")
            found.rows_identical = False
        for first, last in SLICES:
            part = call(take_rows(whole, first, last))
            if not same_bits(part, [array[first:last] for array in scores]):
                found.problems.append(f"rows {first}:{last} score otherwise on their own")
                found.rows_identical = False


def check_model(name: str) -> Agreement:
    """Compiles one model of the suite and compares its scores with eager's."""
    swath: Any = importlib.import_module("swath")
    found = Agreement(name)
    model, example_inputs, make_inputs = MODELS[name]()
    take_rows = TAKE_ROWS.get(name, take_leading_rows)
    with tempfile.TemporaryDirectory(prefix="swath-agreement-") as folder, torch.no_grad():
        path = Path(folder) / f"{name}.swath"
        begin = time.perf_counter()
        swath.compile(model, example_inputs).save(path)
        found.compile_seconds = round(time.perf_counter() - begin, 1)
        calls = {threads: as_call(swath.load(path, threads=threads)) for threads in THREADS}
        wide = in_float64(model)
        for batch in BATCHES:
            larger = make_inputs(max(batch, 7), batch)
            inputs = take_rows(larger, 0, batch)
            references = [expected(call, inputs, batch, larger) for call in (as_call(model), wide)]
            compare(found, batch, calls[THREADS[0]](inputs), *references)
        compare_errors(found)
        compare_rows(found, calls, make_inputs(1000, 1), take_rows)
    return found


def as_call(program: Callable[..., Any]) -> Call:
    """A program or a module as a call from inputs to arrays."""
    return lambda inputs: arrays_of(program(*inputs))


def check_apart(name: str) -> Agreement:
    """`check_model` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.agreement", "--one", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return Agreement(name, problems=[f"took more than {LIMIT_SECONDS} s"])
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        return Agreement(name, problems=[f"exited with {done.returncode}: {last[:200]}"])
    return Agreement(**cast(dict[str, Any], json.loads(lines[-1])))


def row_of(found: Agreement) -> list[str]:
    """A line of the table."""
    if found.problems:
        verdict = "; ".join(found.problems[:3])
        if len(found.problems) > 3:
            verdict += f"; {len(found.problems) - 3} more"
    else:
        verdict = "agrees"
    return [
        found.model,
        f"{found.difference:.1e}",
        f"{found.error:.1e}",
        f"{found.eager_error:.1e}",
        "yes" if found.rows_identical else "no",
        f"{found.compile_seconds:.1f}",
        verdict,
    ]


def page(results: Sequence[Agreement]) -> str:
    """The text of docs/agreement.md."""
    header = ["model", "difference", "error", "eager's error", "rows identical", "compile s", ""]
    text = EXPLANATION.format(
        good=sum(not result.problems for result in results),
        count=len(results),
        processor=describe_machine()["processor"],
        versions=", ".join(f"{name} {version}" for name, version in describe_packages().items()),
        batches=", ".join(map(str, BATCHES)),
        absolute=ABSOLUTE,
        relative=RELATIVE,
        factor=FACTOR,
        roundings=ROUNDINGS,
    )
    return "\n".join([text, *markdown([header, *map(row_of, results)]), ""])


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.agreement")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if none is named")
    parser.add_argument("--one", metavar="MODEL", help="check one in this process, print JSON")
    options = parser.parse_args()
    if options.one:
        torch.set_num_threads(1)
        try:
            found = check_model(options.one)
        except Exception as error:
            found = Agreement(options.one, rows_identical=False, problems=[reason_of(error)])
        print(json.dumps(asdict(found)))
        return 0
    results: list[Agreement] = []
    for name in options.models or MODELS:
        results.append(check_apart(name))
        print("  ".join(row_of(results[-1])), flush=True)
    if not options.models:
        PAGE.write_text(page(results))
        print(f"wrote {PAGE}")
    good = sum(not result.problems for result in results)
    print(f"{good} of {len(results)} models agree with eager")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
