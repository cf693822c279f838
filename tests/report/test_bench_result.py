"""Statistics, ratios and the text and JSON forms of a bench."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swath.report.bench_plot import write_plot
from swath.report.bench_result import (
    BenchReport,
    CaseResult,
    PeerResult,
    Timing,
    geometric_mean,
    percentile,
    read_report,
    timing_of,
)
from swath.report.bench_table import bench_table, short_name


def report() -> BenchReport:
    """Two peers and swath on one case; one peer fails at the larger batch, one wholly."""
    ours = PeerResult("swath", 2.0, timings=[Timing(1, 2.0, 1.9, 2.2, 10, 0.0),
                                             Timing(8, 4.0, 3.9, 4.2, 10, 1e-7)])  # fmt: skip
    eager = PeerResult("eager", 0.0, timings=[Timing(1, 100.0, 99.0, 101.0, 10, 0.0),
                                              Timing(8, 200.0, 199.0, 201.0, 10, 0.0)])  # fmt: skip
    slow = PeerResult("openvino", 3.0, None, [Timing(1, 20.0, 19.0, 21.0, 10, 1e-6)], {"8": "Boom"})
    broken = PeerResult("zentorch", failed="zentorch is not installed")
    case = CaseResult("models:MODELS.DeepFM", 1, [ours, eager, slow, broken])
    machine = {"processor": "P", "cores": "2", "system": "S", "python": "3"}
    return BenchReport(machine, {"torch": "2"}, [1, 8], [case])


def test_ratios_are_against_the_fastest_peer_that_ran() -> None:
    case = report().cases[0]
    assert case.ratio(1) == 10.0
    assert case.ratio(8) == 50.0
    assert case.ratio(16) is None
    assert case.best_peer(8) == ("eager", 200.0)


def test_json_comes_back_equal(tmp_path: Path) -> None:
    report().write(tmp_path / "report.json")
    assert read_report(tmp_path / "report.json") == report()
    assert json.loads((tmp_path / "report.json").read_text()) == asdict(report())


def test_the_table_shows_failures_with_the_reason() -> None:
    text = bench_table(report())
    assert "DeepFM, 1 thread" in text
    assert "20.0 (19.0-21.0)" in text
    assert "x10.00" in text
    assert "zentorch failed: zentorch is not installed" in text
    assert "OpenVINO failed at batch 8: Boom" in text


def test_the_plot_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    write_plot(report(), first)
    write_plot(report(), second)
    assert first.read_bytes() == second.read_bytes()
    assert b"<svg" in first.read_bytes()


@given(st.lists(st.floats(0.1, 1e6), min_size=1))
def test_percentiles_are_ordered_and_within(values: list[float]) -> None:
    timing = timing_of(1, values, None)
    assert timing.low <= timing.median <= timing.high
    assert min(values) - 0.01 <= timing.low
    assert timing.high <= max(values) + 0.01
    assert timing.calls == len(values)


def test_percentile_is_linear_between_neighbours() -> None:
    assert percentile([1.0, 3.0], 0.5) == 2.0
    assert percentile([7.0], 0.25) == 7.0


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("models:MODELS.DeepFM", "DeepFM"),
        ("folder/model.py:make", "model:make"),
        ("a.b.c:make", "c:make"),
        ("folder/saved.pt2", "saved.pt2"),
    ],
)
def test_names_of_cases(case: str, name: str) -> None:
    assert short_name(case) == name


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None
