"""Random graphs through all passes, as generated code, against the interpreter.

Runs each graph with few rows a swath, so that a call takes several swaths and a rest.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from swath.graph.interpreter import interpret
from swath.graph.ir import Graph
from swath.graph.types import RaggedSize, Space
from swath.options import Options
from swath.passes.pipeline import run
from swath.stages.scratch import buffer_bytes, lifetimes
from tests.strategies import random_inputs, row_graphs
from tests.targets.harness import Array, Generated

ROWS = 5
# Every example runs a C++ compiler, so a failure is shrunk on demand only: `--hypothesis-profile`
PROFILE = settings(
    deadline=None,
    max_examples=25,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@pytest.mark.parametrize("isa", ["x86-64-v3", "x86-64-v4"])
@settings(PROFILE)
@given(graph=row_graphs(most_steps=40), seed=st.integers(0, 99))
def test_generated_code(isa: str, graph: Graph, seed: int) -> None:
    """All rows at once, and each alone, give what the interpreter gives."""
    lowered, _ = run(graph, Options())
    generated = Generated(lowered, isa, rows_per_swath=2)
    assert_no_overlap(generated)
    rows = [random_inputs(graph, seed + row) for row in range(ROWS)]
    for index, value in enumerate(graph.inputs):
        if value.type.space is Space.ONCE:
            for row in rows:
                row[index] = rows[0][index]
    wanted = [interpret(graph, row, float64=True) for row in rows]
    got = generated(batched(graph, rows), ROWS)
    for row in range(ROWS):
        alone = generated(batched(graph, rows[row : row + 1]), 1)
        for index, value in enumerate(graph.outputs):
            have = got[index][row if value.type.space is not Space.ONCE else 0]
            want = wanted[row][index].reshape(have.shape)
            np.testing.assert_allclose(have, want, rtol=2e-4, atol=2e-4, err_msg=str(value))
            if value.type.space is not Space.ONCE:
                np.testing.assert_array_equal(have, alone[index][0])


def batched(graph: Graph, rows: list[list[Array]]) -> list[Array]:
    """Inputs of single rows as the inputs of one call."""
    result: list[Array] = []
    for index, value in enumerate(graph.inputs):
        parts = [row[index] for row in rows]
        if any(isinstance(dim, RaggedSize) for dim in value.type.shape):
            parts = [part[2:5] for part in parts]
            result.append(np.concatenate(parts))
        elif value.name == "offsets":
            result.append(3 * np.arange(len(rows)))
        elif value.type.space is Space.ONCE:
            result.append(parts[0])
        else:
            result.append(np.stack(parts))
    return result


def assert_no_overlap(generated: Generated) -> None:
    """Scratch buffers that live at the same time lie apart, inside of the arena."""
    program = generated.program
    spans = lifetimes(program.kernels)
    placed = [
        (start, start + buffer_bytes(buffer, program.rows_per_swath), spans[buffer])
        for buffer, start in program.scratch_offsets.items()
    ]
    for i, (start, end, (first, last)) in enumerate(placed):
        assert 0 <= start < end <= program.scratch_bytes
        for other_start, other_end, (other_first, other_last) in placed[:i]:
            apart = end <= other_start or other_end <= start
            assert apart or last < other_first or other_last < first
