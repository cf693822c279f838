"""Lookups, bags, indexing and in-place writes agree with eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from swath.frontends.torch_export import import_program
from swath.graph.ops import EmbeddingBag
from swath.options import Input
from tests.frontends.agreement import Cases, Two, agree


def ids(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(0, 6, (batch, 4)), torch.randn(batch, 4, 6)


def test_indexing_agrees() -> None:
    table = torch.randn(6, 3)
    cases: Two = {
        "table": lambda i, _: table[i],
        "positions": lambda _, x: x[:, [0, 2]],
        "both": lambda _, x: x[:, [0, 2], [1, 5]],
        "negative": lambda _, x: x[:, [-1]],
        "matrix": lambda _, x: x[..., torch.tensor([[0, 1], [2, 3]])],
        "mask": lambda _, x: x[:, torch.tensor([True, False, True, True])],
        "own": lambda i, x: x[torch.arange(x.shape[0]), :, i[:, 0]],
        "select": lambda _, x: x.index_select(1, torch.tensor([3, 0])),
        "select_table": lambda i, _: torch.index_select(table, 0, i.reshape(-1)),
        "take": lambda i, _: torch.take(table, i),
        "gather": lambda i, x: x.gather(2, i.unsqueeze(-1)),
        "scatter": lambda i, x: torch.zeros(x.shape[0], 6).scatter(1, i, x[..., 0]),
        "scatter_value": lambda i, x: torch.zeros(x.shape[0], 6).scatter(1, i, 2.0),
        "scatter_add": lambda i, x: torch.zeros(x.shape[0], 6).scatter_add(1, i, x[..., 0]),
        "index_add": lambda _, x: x.index_add(1, torch.tensor([0, 0]), x[:, 2:]),
        "index_copy": lambda _, x: x.index_copy(1, torch.tensor([1, 3]), x[:, :2]),
        "index_fill": lambda _, x: x.index_fill(1, torch.tensor([1]), 5.0),
        "index_put": lambda i, x: torch.index_put(
            x, (torch.arange(x.shape[0])[:, None], torch.arange(4), i), x[..., 0]
        ),
        "bucketize": lambda _, x: torch.bucketize(x, torch.tensor([-1.0, 0, 1])),
        "bucketize_right": lambda _, x: torch.bucketize(x, torch.tensor([-1.0, 0, 1]), right=True),
        "isin": lambda i, _: torch.isin(i, torch.tensor([1, 4])),
        "slice_scatter": lambda _, x: torch.slice_scatter(x, x[:, :2], 1, 0, 4, 2),
        "select_scatter": lambda _, x: torch.select_scatter(x, x[:, 0], 1, 2),
    }
    agree(Cases(cases), ids)


def slices(_: Any, x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1] = 0
    y[:, 2:, ::2] += 1
    y[:, :, -1].mul_(2)
    return y


def through_views(_: Any, x: torch.Tensor) -> list[torch.Tensor]:
    y = x.clone()
    flat = y.view(-1, 24)
    turned = y.transpose(1, 2)
    flat[:, 3] = 7
    turned[:, 0].add_(1)
    return [y, flat, turned, y.sum(1)]


def before_and_after(_: Any, x: torch.Tensor) -> list[torch.Tensor]:
    y = x * 2
    early = y + 0
    part = y[:, 0]
    y.relu_()
    return [early, part, y]


def masked(i: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
    y = x.clone()
    y[y < 0] = 0
    z = x.clone()
    z[i > 2] = 1.5
    w = x.clone()
    w.masked_fill_((i == 0).unsqueeze(-1), -1)
    return [y, z, w]


def indexed(i: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
    y = torch.zeros(x.shape[0], 6)
    y[torch.arange(x.shape[0]), i[:, 0]] = 1
    z = torch.zeros(x.shape[0], 6)
    z.scatter_(1, i, 1.0)
    w = x.clone()
    w.index_fill_(1, torch.tensor([0]), 3.0)
    w[:, [1, 3]] = w[:, [0, 2]]
    return [y, z, w]


def reshaped_in_place(_: Any, x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.unsqueeze_(1)
    y.squeeze_(1)
    y.transpose_(1, 2)
    y.clamp_(-1, 1).div_(2)
    return y


def copied_reshape(_: Any, x: torch.Tensor) -> list[torch.Tensor]:
    y = x.clone()
    copy = y.transpose(1, 2).reshape(-1, 24)  # not a view: the copy keeps the old numbers
    y.zero_()
    return [y, copy]


def split_and_written(_: Any, x: torch.Tensor) -> torch.Tensor:
    y: Any = x.clone()
    first, second = y.split([2, 2], dim=1)
    first += second
    second.copy_(first)
    return y


def other_type(_: Any, x: torch.Tensor) -> torch.Tensor:
    count = torch.zeros(x.shape[0], dtype=torch.int64)
    count += (x > 0).sum((1, 2))
    return count


def test_in_place_operations_agree() -> None:
    cases: Two = {
        case.__name__: case
        for case in (
            slices, through_views, before_and_after, masked, indexed, reshaped_in_place,
            copied_reshape, split_and_written, other_type,
        )
    }  # fmt: skip
    agree(Cases(cases), ids)


class Tables(nn.Module):
    def __init__(self, mode: str, padding: int | None) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 3, padding_idx=0)
        self.bag = nn.EmbeddingBag(9, 5, mode=mode, padding_idx=padding)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [self.table(x), self.bag(x), self.table(x.int()[:, 0])]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 0])
def test_bags_of_fixed_length_agree(mode: str, padding: int | None) -> None:
    agree(Tables(mode, padding), lambda batch: (torch.randint(0, 3, (batch, 4)),))


class Bags(nn.Module):
    def __init__(self, mode: str, last: bool) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 5, mode=mode, include_last_offset=last)

    def forward(
        self, dense: torch.Tensor, values: torch.Tensor, offsets: torch.Tensor
    ) -> torch.Tensor:
        return torch.cat([dense, self.bag(values, offsets)], 1)


def ragged(batch: int, last: bool) -> tuple[torch.Tensor, ...]:
    lengths = torch.randint(0, 4, (batch,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    values = torch.randint(0, 9, (int(offsets[-1]),))
    return torch.randn(batch, 2), values, offsets if last else offsets[:-1]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_ragged_bags_agree(mode: str, last: bool) -> None:
    imported = agree(Bags(mode, last), lambda batch: ragged(batch, last), example_batch=4)
    leaves = {leaf.name: leaf for leaf in imported.signature.inputs}
    assert leaves["values"].kind == "ragged"
    assert leaves["values"].offsets == "offsets"
    assert leaves["offsets"].kind == "offsets"
    assert leaves["offsets"].include_last_offset is last
    assert any(isinstance(node.op, EmbeddingBag) for node in imported.graph.nodes)


def test_values_that_are_as_many_as_rows_stay_ragged() -> None:
    example = (torch.randn(3, 2), torch.tensor([1, 2, 3]), torch.tensor([0, 1, 2]))
    imported = import_program(Bags("sum", False).eval(), example)
    assert [str(value.type) for value in imported.graph.inputs] == [
        "f32[B,2]", "i64[~values]", "i64[B]",
    ]  # fmt: skip


def test_ragged_inputs_can_be_declared() -> None:
    agree(
        Bags("sum", False),
        lambda batch: ragged(batch, False),
        example_batch=4,
        inputs={"values": Input(ragged="offsets")},
    )


class NestedBags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(9, 3, mode="sum") for _ in range(2))

    def forward(self, values: list[torch.Tensor], offsets: list[torch.Tensor]) -> torch.Tensor:
        pairs = zip(self.bags, values, offsets, strict=True)
        return torch.cat([bag(ids, starts) for bag, ids, starts in pairs], 1)


def test_bags_in_lists_agree() -> None:
    def make(batch: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        columns = [ragged(batch, False) for _ in range(2)]
        return [column[1] for column in columns], [column[2] for column in columns]

    imported = agree(NestedBags(), make, example_batch=4)
    assert [str(value.type) for value in imported.graph.inputs] == [
        "i64[~values.0]", "i64[~values.1]", "i64[B]", "i64[B]",
    ]  # fmt: skip


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 5, mode="sum")

    def forward(
        self, values: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        return self.bag(values, offsets, per_sample_weights=weights)


def test_weighted_bags_agree() -> None:
    def make(batch: int) -> tuple[torch.Tensor, ...]:
        _, values, offsets = ragged(batch, False)
        return values, offsets, torch.rand(len(values))

    agree(Weighted(), make, example_batch=4)
