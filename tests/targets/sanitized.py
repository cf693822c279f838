"""Runs the cases of test_generated.py under whatever sanitizers the process has loaded.

All cases are one graph, so that the compiler runs once.

usage: python -m tests.targets.sanitized ISA
"""

from __future__ import annotations

import os
import sys

from swath.graph.ir import Value
from tests.targets.harness import Generated
from tests.targets.test_generated import CASES, Case
from tests.targets.test_sanitized import FLAGS


def main(isa: str) -> None:
    """Calls of no row, one row, and several swaths with a rest."""
    os.environ.pop("LD_PRELOAD", None)  # the compiler itself runs without the sanitizers
    case = Case()
    outputs: list[Value] = []
    for build in CASES.values():
        made = build(case)
        outputs += made if isinstance(made, tuple) else (made,)
    graph = case.builder.build(outputs)
    generated = Generated(graph, isa, rows_per_swath=4, extra=FLAGS)
    for rows in (0, 1, 9):
        generated(case.inputs(graph, rows), rows)
    print(f"{len(CASES)} cases ran clean")


if __name__ == "__main__":
    main(sys.argv[1])
