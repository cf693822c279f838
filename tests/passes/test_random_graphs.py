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


@settings(PROFILE, max_examples=100)
@given(graph=row_graphs(), seed=st.integers(0, 99))
def test_pipeline_on_special_numbers(graph: Graph, seed: int) -> None:
    """NaN, infinities and zeros of both signs come through as they do in the graph."""
    after, _ = run(graph, Options())
    inputs = [with_special_numbers(array, seed) for array in random_inputs(graph, seed)]
    old, new = outputs(graph, inputs), outputs(after, inputs)
    for value, one, other in zip(graph.outputs, old, new, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4, err_msg=str(value))


def with_special_numbers(array: Array, seed: int) -> Array:
    """Some elements of a float array replaced."""
    if array.dtype.kind != "f":
        return array
    random = np.random.default_rng(seed)
    chosen = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], array.shape)
    return np.where(random.random(array.shape) < 0.3, chosen, array).astype(array.dtype)
