"""The bench itself, on a model that takes no time: processes, turns, failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from swath.report.bench import BenchSettings, bench, rotated
from swath.report.bench_result import CaseResult

MODEL = """
import os
import torch
from torch import nn

class Doubles(nn.Module):
    def forward(self, x):
        return x * 2

class FailsOnMany(nn.Module):
    def forward(self, x):
        if len(x) > 4:
            raise ValueError("too many rows")
        return x

class Dies(nn.Module):
    def forward(self, x):
        os.abort()

def doubles():
    return Doubles(), (torch.arange(6.0).reshape(3, 2),)

def fails_on_many():
    return FailsOnMany(), (torch.ones(3, 2),)

def dies():
    return Dies(), (torch.ones(3, 2),)
"""

SETTINGS = BenchSettings(
    batches=(1, 8), peers=("eager",), rounds=2, turn_seconds=0.01, turn_calls=20, input_sets=3
)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A file of factories."""
    path = tmp_path / "models.py"
    path.write_text(MODEL)
    return path


def test_a_peer_is_built_and_timed_at_every_batch(models: Path) -> None:
    seen: list[CaseResult] = []
    report = bench([f"{models}:doubles"], SETTINGS, found=seen.append)
    (case,) = report.cases
    (eager,) = case.peers
    assert seen == [case]
    assert eager.failed is None
    assert [timing.batch for timing in eager.timings] == [1, 8]
    for timing in eager.timings:
        assert 0 < timing.low <= timing.median <= timing.high
        assert timing.calls >= 2 * 3
        assert timing.difference == 0.0


def test_a_batch_that_fails_is_told_and_the_others_go_on(models: Path) -> None:
    (case,) = bench([f"{models}:fails_on_many"], SETTINGS).cases
    (eager,) = case.peers
    assert [timing.batch for timing in eager.timings] == [1]
    assert eager.failures == {"8": "ValueError: too many rows"}


def test_a_process_that_dies_is_told(models: Path) -> None:
    (case,) = bench([f"{models}:dies"], SETTINGS).cases
    assert case.peers[0].failed is not None
    assert "signal 6" in case.peers[0].failed


def test_a_factory_that_is_not_there_is_told(models: Path) -> None:
    (case,) = bench([f"{models}:nothing"], SETTINGS).cases
    assert case.peers[0].failed is not None
    assert "SW403" in case.peers[0].failed


def test_turns_begin_elsewhere_each_round() -> None:
    assert [rotated(["a", "b", "c"], by) for by in range(4)] == [
        ["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"],
    ]  # fmt: skip
    assert rotated([], 3) == []
