"""Every model of the suite under the address and undefined-behaviour sanitizers.

    python -m benchmarks.sanitized [MODEL ...]

The libraries of the artefacts are built with the sanitizers and called with 0, 1, 7 and 64 rows.
The sanitizers must be loaded before Python is, so each model runs in a process of its own; exits
with 1 if one reports something.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

import torch

import swath
from benchmarks.models import MODELS, TAKE_ROWS, take_leading_rows

COMPILER = "g++ -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
BATCHES = (1, 7, 64)
LIMIT_SECONDS = 900


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the models that are named, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.sanitized")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if none is named")
    parser.add_argument("--one", metavar="MODEL", help="run one in this process")
    parser.add_argument("--isa", default="x86-64-v4")
    options = parser.parse_args(arguments)
    if options.one:
        run(options.one, options.isa)
        return 0
    failed = 0
    for name in options.models or MODELS:
        report = sanitized(name, options.isa)
        print(name, report or "clean", flush=True)
        failed += bool(report)
    return 1 if failed else 0


def sanitized(name: str, isa: str) -> str:
    """What the sanitizers said of a model; empty if nothing."""
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{sanitizer('libasan.so')} {sanitizer('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    command = [sys.executable, "-m", "benchmarks.sanitized", "--one", name, "--isa", isa]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                          timeout=LIMIT_SECONDS)  # fmt: skip
    return "" if done.returncode == 0 else done.stderr[-2000:] or f"exit {done.returncode}"


def sanitizer(library: str) -> str:
    """Where the compiler keeps the run-time library of a sanitizer."""
    command = ["g++", f"-print-file-name={library}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(name: str, isa: str) -> None:
    """Compile a model with the sanitizers and call it; a report ends the process."""
    os.environ.pop("LD_PRELOAD", None)  # the compiler itself runs without them
    model, example_inputs, make_inputs = MODELS[name]()
    options = swath.Options(compiler=COMPILER, targets=(isa,))
    with torch.no_grad():
        program = swath.compile(model, example_inputs, options=options)
        take_rows = TAKE_ROWS.get(name, take_leading_rows)
        program(*take_rows(make_inputs(2, 0), 0, 0))
        for batch in BATCHES:
            program(*make_inputs(batch, batch))


if __name__ == "__main__":
    sys.exit(main())
