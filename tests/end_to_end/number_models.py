"""Models of numbers: functions, types, shapes, and outputs of every kind."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from tests.end_to_end.eager import Case, Function
from tests.end_to_end.interaction_models import numbers


def clean(m: Any, x: Tensor) -> list[Tensor]:
    return [
        torch.where(torch.isnan(x), torch.zeros_like(x), x.clamp(-1, 1)),
        x.nan_to_num(0.5).log1p().nan_to_num(),
        torch.isfinite(x) & (x > 0),
        (x * m.mask).sum(1),
        torch.maximum(x, m.mask),
        (x - x.amin(1, keepdim=True)) / (x.amax(1, keepdim=True) - x.amin(1, keepdim=True)),
        F.leaky_relu(x) + F.hardsigmoid(x) + F.elu(x) + x.sign(),
        x.softmax(1),
    ]


def small_integers(_: Any, a: Tensor, b: Tensor, c: Tensor) -> list[Tensor]:
    return [a + 1, a * 3, a - 7, b * 3 + 1, b.abs(), b // 7, c * c, c + b, c.float() * a]


def large_integers(_: Any, x: Tensor) -> list[Tensor]:
    low = torch.full_like(x, -(2**63))
    return [
        x ^ 0x7FFFFFFFFFFFFFF1,
        (x * 6364136223846793005) >> 33,
        x & (2**62 + 1),
        torch.where(x > 3, low, x),
        x % 1000003,
        x // 3,
    ]


def doubles(m: Any, x: Tensor) -> list[Tensor]:
    rows = x.reshape(-1, 4, 5)
    return [
        m.layers(x),
        m.convolution(rows),
        m.attention(rows, rows, rows, need_weights=False)[0],
        F.avg_pool1d(rows, 2),
        x.float() + 1,
        x.exp().cumsum(1).log(),
    ]


def ordered(_: Any, x: Tensor) -> list[Tensor]:
    best = x.topk(3, 1)
    return [*best, *x.sort(1, descending=True), x.argmax(1), x.cumsum(1), x.gather(1, best[1])]


def outputs(m: Any, x: Tensor, ids: Tensor) -> dict[str, Any]:
    more = x + 1
    return {
        "the inputs": (x, ids, x),
        "twice": [more, more, more.view(-1)],
        "a constant": m.w,
        "nothing": x[:, 3:3],
        "none": None,
        "a class": F.one_hot(ids, 9),
    }


def constant_rows(m: Any, x: Tensor) -> list[Tensor]:
    ones = torch.ones(x.shape[0], 3)
    return [ones, torch.zeros_like(x), m.w.expand(x.shape[0], -1), x + 1, ones, m.w]


def shapes(m: Any, x: Tensor) -> list[Tensor]:
    return [
        m.l(x.reshape(-1, 5)).view(-1, 7 * 3),
        m.l(x.transpose(0, 1).reshape(-1, 5)).view(7, -1, 3).transpose(0, 1),
        m.l(torch.cat([x[..., 2:2], x], 2)),
        x.reshape(-1, 5) * 2,
        x.permute(2, 0, 1),
        x.flip(1).roll(1, 2),
        F.pad(x, (1, 2)).unfold(1, 3, 2),
    ]


def writes(_: Any, x: Tensor) -> Tensor:
    out = torch.zeros(x.shape[0], 6)
    out[:, 1:4] = x[:, :3]
    out[:, 5] += x[:, 4]
    out[out < 0] = -1
    return out


NUMBERS: dict[str, Case] = {
    "numbers that are none": Case(
        lambda: Function(clean, mask=nn.Parameter(torch.tensor([0.0, 1, 0, 1, 1, 1, 0]))),
        numbers(7),
    ),
    "small integers": Case(
        lambda: Function(small_integers),
        lambda batch: (
            torch.randint(0, 256, (batch, 7)).to(torch.uint8),
            torch.randint(-128, 128, (batch, 7)).to(torch.int8),
            torch.randint(-3000, 3000, (batch, 7)).to(torch.int16),
        ),
    ),
    "large integers": Case(
        lambda: Function(large_integers),
        lambda batch: (torch.randint(-(2**62), 2**62, (batch, 7)),),
    ),
    "doubles": Case(
        lambda: Function(
            doubles,
            layers=nn.Sequential(nn.Linear(20, 7), nn.LayerNorm(7), nn.GELU(), nn.Linear(7, 1)),
            convolution=nn.Conv1d(4, 6, 3, padding=1, groups=2),
            attention=nn.MultiheadAttention(5, 1, batch_first=True),
        ).double(),
        lambda batch: (torch.rand(batch, 20, dtype=torch.float64),),
        spoilt=False,
    ),
    "order": Case(lambda: Function(ordered), numbers(17), spoilt=False),
    "outputs": Case(
        lambda: Function(outputs, w=nn.Parameter(torch.randn(3))),
        lambda batch: (torch.randn(batch, 5), torch.randint(0, 9, (batch,))),
    ),
    "constant rows": Case(
        lambda: Function(constant_rows, w=nn.Parameter(torch.randn(1, 3))), numbers(3)
    ),
    "shapes": Case(lambda: Function(shapes, l=nn.Linear(5, 3)), numbers(7, 5)),
    "writes": Case(lambda: Function(writes), numbers(5)),
    "one number": Case(
        lambda: Function(lambda m, x: x * 2 + m.b, b=nn.Parameter(torch.ones(1))), numbers()
    ),
}
