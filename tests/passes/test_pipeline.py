"""The pipeline runs all passes in order, tells what each did, and leaves out what it may."""

from __future__ import annotations

import pytest

from swath.errors import SwathError
from swath.graph.ir import Graph
from swath.graph.parser import parse_graph
from swath.options import Options
from swath.passes.pipeline import OPTIONAL, PIPELINE, REQUIRED, run

GRAPH = parse_graph(
    """
    input %x: f32[1,4] @candidate
    constant %one: f32[] @once = 1.0
    %a: f32[1,4] @candidate = binary(%x, %one, function="mul")
    %b: f32[1,4] @candidate = unary(%a, function="exp")
    %unused: f32[1,4] @candidate = unary(%b, function="exp")
    return %b
    """
)


def test_reports_each_pass() -> None:
    kept: list[tuple[str, Graph]] = []
    graph, reports = run(GRAPH, Options(), lambda name, made: kept.append((name, made)))
    assert [report.name for report in reports] == [step.__name__ for step in PIPELINE]
    assert [name for name, _ in kept] == [report.name for report in reports]
    assert kept[-1][1] is graph
    assert (reports[0].nodes_before, reports[0].nodes_after) == (3, 2)
    assert (reports[-1].nodes_after, reports[-1].constants_after) == (1, 0)
    assert all(report.seconds >= 0 for report in reports)


def test_every_pass_can_be_found_by_its_name() -> None:
    for step in PIPELINE:
        assert step.__module__ == f"swath.passes.{step.__name__}"


@pytest.mark.parametrize("name", OPTIONAL)
def test_leaves_out_optional_passes(name: str) -> None:
    _, reports = run(GRAPH, Options(disabled_passes=(name,)))
    assert name not in {report.name for report in reports}
    assert len(reports) < len(PIPELINE)


@pytest.mark.parametrize("name", [*sorted(REQUIRED), "no_such_pass"])
def test_refuses_to_leave_out_others(name: str) -> None:
    with pytest.raises(SwathError, match=f"the pass `{name}` can't be disabled") as caught:
        run(GRAPH, Options(disabled_passes=(name,)))
    assert caught.value.problem.id == "SW080"
    assert "simplify" in caught.value.problem.fix
