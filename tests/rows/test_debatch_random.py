"""What debatching claims of random graphs holds at run time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows.checks import (
    assert_replacing_rows,
    assert_rolling_rows,
    assert_row_form,
    random_inputs,
)
from rows.random_graphs import RandomGraph
from rows.toys import MIXING, toy
from swath.graph.ops.base import RowAxis
from swath.graph.text import print_graph
from swath.graph.verifier import verify
from swath.rows import Debatched, debatch

BATCH = 5


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_claims_hold(seed: int) -> None:
    graph = RandomGraph(seed, steps=25).graph
    form = debatch(graph)
    verify(form.graph, after="debatch")
    rng = np.random.default_rng(seed)
    inputs = random_inputs(graph, BATCH, rng)
    assert_row_form(graph, form, inputs, BATCH)
    assert_replacing_rows(graph, form, inputs, BATCH, rng)
    assert_rolling_rows(graph, form, inputs, BATCH)


def test_random_graphs_are_both_kept_and_refused() -> None:
    graphs = [RandomGraph(seed, steps=25) for seed in range(20)]
    assert sum(len(graph.values) for graph in graphs) > 20 * 10
    assert sum(graph.refused for graph in graphs) > 20
    assert print_graph(graphs[0].graph) == print_graph(RandomGraph(0, steps=25).graph)


@pytest.mark.parametrize(
    "name", ["plus the first row", "times the position", "mean over the batch", "rolled rows"]
)
def test_checks_catch_wrong_claims(name: str) -> None:
    graph = toy(MIXING[name][0])
    claim = Debatched(graph, (RowAxis(0),), (RowAxis(0),))
    caught = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inputs = random_inputs(graph, BATCH, rng)
        for check in (
            lambda: assert_replacing_rows(graph, claim, inputs, BATCH, rng),  # noqa: B023
            lambda: assert_rolling_rows(graph, claim, inputs, BATCH),  # noqa: B023
        ):
            try:
                check()
            except AssertionError:
                caught += 1
    assert caught >= 4
