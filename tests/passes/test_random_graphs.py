"""Every pass keeps the meaning of random graphs, and leaves them well formed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import random_inputs, row_graphs

from swath.graph.interpreter import interpret
from swath.graph.ir import Array, Graph
from swath.graph.text import same_graph
from swath.graph.verifier import verify
from swath.options import Options
from swath.passes.pipeline import PIPELINE, run

PASSES = tuple(dict.fromkeys(PIPELINE))
PROFILE = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.__name__)
@settings(PROFILE, max_examples=40)
@given(graph=row_graphs(), seed=st.integers(0, 9))
def test_pass(step: Callable[[Graph], Graph], graph: Graph, seed: int) -> None:
    """A pass alone."""
    verify(graph, "the strategy")
    after = step(graph)
    verify(after, step.__name__)
    assert_same(graph, after, seed)


@settings(PROFILE, max_examples=100)
@given(graph=row_graphs(), seed=st.integers(0, 9))
def test_pipeline(graph: Graph, seed: int) -> None:
    """All passes, one behind the other."""
    after, reports = run(graph, Options(), lambda name, made: verify(made, name))
    assert [report.name for report in reports] == [step.__name__ for step in PIPELINE]
    assert_same(graph, after, seed)


@settings(PROFILE, max_examples=40)
@given(graph=row_graphs())
def test_pipeline_is_reproducible(graph: Graph) -> None:
    """The same graph gives the same graph."""
    assert same_graph(run(graph, Options())[0], run(graph, Options())[0])


def assert_same(before: Graph, after: Graph, seed: int) -> None:
    """Equal results in double precision, but for constants that were rounded once more."""
    inputs = random_inputs(before, seed)
    old, new = outputs(before, inputs), outputs(after, inputs)
    for value, one, other in zip(before.outputs, old, new, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4, err_msg=str(value))


def outputs(graph: Graph, inputs: list[Array]) -> list[Array]:
    """The outputs, in double precision."""
    return interpret(graph, inputs, float64=True)
