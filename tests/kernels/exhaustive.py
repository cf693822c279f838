"""The largest error of each elementary function over all float32 numbers, against its bound.

    python -m tests.kernels.exhaustive [step] [names...]

looks at every `step`-th bit pattern; 1 looks at all of them and takes a few minutes per function.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.kernels.bounds import FUNCTIONS, SMALLEST_NORMAL, errors
from tests.kernels.built import HERE, Kernels, build, compilers, isas


@np.errstate(all="ignore")
def worst(kernels: Kernels, name: str, step: int) -> tuple[float, float]:
    """The largest error in ulp where the result is normal, and its argument."""
    function = FUNCTIONS[name]
    found = (0.0, 0.0)
    block = step << 20
    for start in range(0, 2**32, block):
        bits = np.arange(start, min(start + block, 2**32), step, dtype=np.uint64)
        x = bits.astype(np.uint32).view(np.float32)
        exact = function.reference(x.astype(np.float64))
        error = errors(kernels.unary(name, x), exact)
        error[(np.abs(exact) < SMALLEST_NORMAL) | ~(x >= function.lowest)] = 0
        at = int(np.argmax(error))
        found = max(found, (float(error[at]), float(x[at])))
    return found


def main(arguments: list[str]) -> int:
    """0 when every bound holds."""
    step = int(arguments[0]) if arguments else 1
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        library = build(next(compilers()), isas()[-1], HERE / "exports.cpp", Path(folder))
        kernels = Kernels("", library)
        for name in arguments[1:] or FUNCTIONS:
            error, argument = worst(kernels, name, step)
            bound = FUNCTIONS[name].ulp
            failures += error > bound
            print(f"{name:10s} {error:.3f} ulp at {argument!r}, bound {bound}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
