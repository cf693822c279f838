"""The benchmark suite's own parts: inputs, weights, counted work, verdicts, pages."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.agreement import Agreement, compare, compare_errors, page
from benchmarks.cost import cost_of, limit_of
from benchmarks.inputs import dense_features, history_lengths, padded_histories, zipf_ids
from benchmarks.models import FEED_FORWARD, MODELS
from benchmarks.speed import merged
from benchmarks.speed_page import page as speed_page
from benchmarks.weights import scale_as_trained
from examples.dlrm import make_inputs, take_rows
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from swath.report.bench_result import BenchReport, CaseResult, PeerResult, Timing
from swath.report.machine import Machine

MACHINE = Machine("P", 100.0, 200.0, 100.0, 80.0, 30.0, 5.0, 10.0)


class Small(nn.Module):
    """A table of rows 16 wide and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.linear = nn.Linear(16, 8)

    def forward(self, ids: Tensor) -> Tensor:
        """[B] to [B, 8]."""
        return self.linear(self.table(ids)).relu()


def small_inputs(batch: int, seed: int) -> tuple[Tensor]:
    """Every row looks up the same id in the same set, another one in another set."""
    return (torch.full((batch,), seed),)


@given(st.integers(2, 10**6), st.integers(0, 1000))
def test_ids_are_within_the_vocabulary(vocabulary: int, seed: int) -> None:
    ids = zipf_ids(np.random.default_rng(seed), vocabulary, 200)
    assert ids.min() >= 1
    assert ids.max() < vocabulary


def test_small_ids_are_hot_and_large_ones_come_too() -> None:
    ids = zipf_ids(np.random.default_rng(0), 1_000_000, 100_000)
    assert 0.45 < np.mean(ids < 1000) < 0.55
    assert ids.max() > 900_000


def test_dense_features_have_missing_ones() -> None:
    values = dense_features(np.random.default_rng(0), 1000, 13)
    assert values.shape == (1000, 13)
    assert values.dtype == np.float32
    assert 0.08 < np.mean(values == 0) < 0.4


def test_histories_are_padded_beyond_their_length() -> None:
    random = np.random.default_rng(0)
    lengths = history_lengths(random, 500, 20)
    histories = padded_histories(random, 100, lengths, 20)
    assert lengths.min() == 0
    assert lengths.max() == 20
    np.testing.assert_array_equal((histories > 0).sum(axis=1), lengths)


def test_weights_get_the_size_that_training_gives() -> None:
    linear, norm, table = nn.Linear(100, 50), nn.BatchNorm1d(50), nn.Embedding(200, 4, 0)
    nn.init.constant_(linear.weight, 0.0)
    model = scale_as_trained(nn.Sequential(linear, norm, table))
    assert not model.training
    assert 0.09 < float(linear.weight.detach().std()) < 0.11
    assert norm.running_var is not None
    assert float(norm.running_var.min()) >= 0.5
    assert not table.weight.detach()[0].any()
    assert table.weight.detach()[1].any()


def test_work_is_counted() -> None:
    cost = cost_of((Small().eval(), small_inputs(4, 0), small_inputs), (1, 8), 3)
    # A multiply and an add for each weight, and the ReLU.
    assert cost.operations_per_row == 2 * 16 * 8 + 8
    assert cost.weight_bytes == 4 * (16 * 8 + 8)
    # 16 floats are one line; all rows of a call share it, three sets have three.
    assert cost.rows[8].lines == 1
    assert cost.rows[8].touched_bytes == 3 * 64
    limit = limit_of(cost, MACHINE, 8)
    assert limit.arithmetic == pytest.approx(8 * 264 / 100e9 * 1e6)
    assert limit.rows == pytest.approx(5e-3)
    assert limit.least == max(limit.arithmetic, limit.rows, limit.weights)


def test_rows_of_bags_are_taken_whole() -> None:
    dense, values, offsets = make_inputs(9, 1)
    part, part_values, part_offsets = take_rows((dense, values, offsets), 3, 5)
    assert torch.equal(part, dense[3:5])
    for ids, begins, taken, starts in zip(values, offsets, part_values, part_offsets, strict=True):
        assert torch.equal(taken, ids[begins[3] : begins[5]])
        assert torch.equal(starts, begins[3:5] - begins[3])


def test_a_verdict_names_what_differs() -> None:
    eager = [np.asarray([0.5, 0.25], np.float32)]
    found = Agreement("M")
    compare(found, 2, [eager[0] + np.float32(1e-6)], eager, eager)
    compare_errors(found)
    assert found.problems == ["the error is more than eager's by a factor"]
    compare(found, 7, [eager[0] + np.float32(1e-3)], eager, eager)
    assert "batch 7: differs from eager by 1.0e-03" in found.problems
    compare(found, 1, [eager[0][:1]], eager, eager)
    assert "shapes" in found.problems[-1]


def test_a_nan_where_eager_has_none_is_a_problem() -> None:
    found = Agreement("M")
    number, nan = np.asarray([1.0], np.float32), np.asarray([np.nan], np.float32)
    compare(found, 1, [nan], [number], [number])
    assert found.problems


def test_pages_have_every_model() -> None:
    text = page([Agreement("Good"), Agreement("Bad", problems=["differs"])])
    assert "1 of 2 models agree" in text
    assert "| Bad |" in text
    timing = Timing(1, 2.0, 1.0, 3.0, 5, 0.0)
    peers = [PeerResult("swath", 1.0, timings=[timing]), PeerResult("eager", 0.0, "Boom")]
    cases = [CaseResult("benchmarks.models:MODELS.DeepFM", 1, peers)]
    report = BenchReport({"processor": "P", "cores": "2", "python": "3"}, {}, [1], cases)
    assert "| DeepFM | 2.00 |" in speed_page(report, MACHINE, {})
    assert "Boom" in speed_page(report, MACHINE, {})
    newer = BenchReport(report.machine, {}, [1, 8], [CaseResult(cases[0].case, 2, peers)])
    both = merged(report, newer)
    assert [case.threads for case in both.cases] == [1, 2]
    assert both.batches == [1, 8]


def test_the_suite_has_the_models_that_it_names() -> None:
    assert len(FEED_FORWARD) == 31
    assert set(MODELS) - set(FEED_FORWARD) == {"DIN", "DIN_softmax", "DLRM"}
