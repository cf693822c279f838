"""One peer in a process of its own: `python -m swath.report.bench_worker`.

Reads one JSON message a line from standard input and answers each with one line. The messages, in
order:

    {"do": "build", "case": ..., "peer": ..., "threads": ..., "folder": ...} -> {"seconds": ...}
    {"do": "prepare", "batch": ..., "sets": ..., "output": path}             -> {}
    {"do": "turn", "seconds": ..., "calls": ...}                             -> {"microseconds": []}

Anything that goes wrong is answered with {"failed": reason}. It waits without working between
messages, so that the turns of several workers can be interleaved.
"""

import gc
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np
import torch

from swath.errors import SwathError
from swath.report.bench_case import Case, Inputs, load_case, tree_leaves
from swath.report.bench_peers import Building, Call, peer_named

WARM_CALLS = 3


@dataclass
class Worker:
    """The state of this process: what was built, and the inputs of the batch in hand."""

    case: Case | None = None
    call: Call | None = None
    sets: list[Inputs] = field(default_factory=list[Inputs])
    next_set: int = 0

    def build(self, message: dict[str, Any]) -> dict[str, Any]:
        """Loads the case and builds the peer; the time runs to the end of the first call."""
        threads = int(message["threads"])
        torch.set_num_threads(threads)
        self.case = load_case(message["case"])
        begin = time.perf_counter()
        self.call = peer_named(message["peer"]).build(
            Building(self.case, threads, Path(message["folder"]))
        )
        self.call(self.case.example_inputs)
        return {"seconds": time.perf_counter() - begin}

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Draws the input sets of one batch; writes the outputs of the first to `output`."""
        assert self.case is not None
        assert self.call is not None
        self.sets = [
            self.case.make_inputs(int(message["batch"]), seed)
            for seed in range(int(message["sets"]))
        ]
        self.next_set = 0
        outputs = [np.asarray(leaf) for leaf in tree_leaves(self.call(self.sets[0]))]
        np.savez(message["output"], *outputs)
        return {}

    def turn(self, message: dict[str, Any]) -> dict[str, Any]:
        """Calls for about `seconds`, 3 to `calls` times, each on the next input set."""
        assert self.call is not None
        call, sets = self.call, self.sets
        for inputs in sets[:WARM_CALLS]:
            call(inputs)
        budget, most = float(message["seconds"]), int(message["calls"])
        taken: list[float] = []
        gc.collect()
        gc.disable()
        begin = time.perf_counter()
        while len(taken) < WARM_CALLS or (
            len(taken) < most and time.perf_counter() - begin < budget
        ):
            inputs = sets[self.next_set]
            self.next_set = (self.next_set + 1) % len(sets)
            start = time.perf_counter_ns()
            call(inputs)
            taken.append((time.perf_counter_ns() - start) / 1e3)
        gc.enable()
        return {"microseconds": taken}


def reason_of(error: BaseException) -> str:
    """The kind of `error` and what it says, on one line; the problem alone of an error of ours."""
    if isinstance(error, SwathError):
        return f"{error.problem.id}: {error.problem.what}"
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:240]}" if said else type(error).__name__


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answers messages until the requests end."""
    worker = Worker()
    actions = {"build": worker.build, "prepare": worker.prepare, "turn": worker.turn}
    with torch.no_grad():
        for line in requests:
            message = cast(dict[str, Any], json.loads(line))
            try:
                answer = actions[message["do"]](message)
            except Exception as error:
                answer = {"failed": reason_of(error)}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def main() -> None:
    """Serves on the standard streams; whatever a library prints goes to standard error instead."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
