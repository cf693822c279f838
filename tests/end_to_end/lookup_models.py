"""Models of ids: tables, bags, masks, histories."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from tests.end_to_end.eager import Case, Function

ROWS = 50


def ids(*shape: int, high: int = ROWS) -> Tensor:
    return torch.randint(0, high, shape)


def table(width: int, rows: int = ROWS, dtype: torch.dtype = torch.float32) -> nn.Embedding:
    return nn.Embedding(rows, width, dtype=dtype)


def stored(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)


def ragged(batch: int, last: bool) -> tuple[Tensor, Tensor]:
    """Bags of nought to three ids."""
    ends = np.cumsum(np.random.default_rng(batch).integers(0, 4, batch), dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    return ids(int(starts[-1])), torch.as_tensor(starts if last else starts[:-1])


def bags(m: Any, values: Tensor) -> list[Tensor]:
    return [m.total(values), m.mean(values), m.top(values), m.weighted(values % 3)]


def masked_pools(m: Any, history: Tensor, length: Tensor) -> list[Tensor]:
    rows, there = m.item(history), (history != 0).unsqueeze(2)
    short = torch.arange(history.shape[1])[None] < length[:, None]
    return [
        (rows * there).sum(1) / there.sum(1).clamp(min=1),
        rows.masked_fill(~there, -1e9).amax(1),
        (rows * short.unsqueeze(2)).sum(1) / length.unsqueeze(1).clamp(min=1),
    ]


def interest(m: Any, history: Tensor, target: Tensor) -> Tensor:
    past, now = m.item(history), m.item(target)
    wide = now.unsqueeze(1).expand_as(past)
    score = m.score(torch.cat([wide, past, wide - past, wide * past], 2)).squeeze(2)
    score = torch.where(history != 0, score, torch.full_like(score, -(2.0**32)))
    pooled = torch.bmm(score.softmax(1).unsqueeze(1), past).squeeze(1)
    return m.last(torch.cat([pooled, now], 1)).sigmoid()


def stored_indices(m: Any, x: Tensor) -> list[Tensor]:
    rows = m.item(x + m.starts)
    left, right = rows[:, m.left], rows[:, m.right]
    return [(left * right).sum(2), rows.index_select(1, m.right), m.item(m.group[x[:, 0]])]


LOOKUPS: dict[str, Case] = {
    "columns of several widths": Case(
        lambda: Function(
            lambda m, x: torch.cat([t(x[:, k]) for k, t in enumerate(m.tables)], 1),
            tables=nn.ModuleList(table(1 + k % 5) for k in range(20)),
        ),
        lambda batch: (ids(batch, 20),),
    ),
    "columns that share tables": Case(
        lambda: Function(
            lambda m, x: torch.cat([*(m.a(x[:, k]) for k in (0, 3, 1, 3)), m.b(x[:, 2])], 1),
            a=table(5),
            b=table(7),
        ),
        lambda batch: (ids(batch, 4),),
    ),
    "a table and its transpose": Case(
        lambda: Function(lambda m, x: m.t(x).mean(1) @ m.t.weight.t(), t=table(9)),
        lambda batch: (ids(batch, 4),),
    ),
    "tables of other types": Case(
        lambda: Function(
            lambda m, x: [m.f64(x), *(F.embedding(x, t) for t in m.whole)],
            f64=table(5, dtype=torch.float64),
            whole=nn.ParameterList(
                stored(torch.randint(0, 2, (ROWS, width)).to(dtype))
                for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool)
                for width in (1, 5)
            ),
        ),
        lambda batch: (ids(batch, 3),),
    ),
    "many tables of float64": Case(
        lambda: Function(
            lambda m, x: torch.cat([t(x[:, k]) for k, t in enumerate(m.tables)], 1) @ m.w,
            tables=nn.ModuleList(table(3, dtype=torch.float64) for _ in range(9)),
            w=nn.Parameter(torch.randn(27, 7, dtype=torch.float64)),
        ),
        lambda batch: (ids(batch, 9),),
    ),
    "bags of a fixed length": Case(
        lambda: Function(
            bags,
            total=nn.EmbeddingBag(ROWS, 7, mode="sum"),
            mean=nn.EmbeddingBag(ROWS, 7, mode="mean"),
            top=nn.EmbeddingBag(ROWS, 7, mode="max"),
            weighted=nn.EmbeddingBag(ROWS, 7, mode="mean", padding_idx=0),
        ),
        lambda batch: (ids(batch, 5),),
    ),
    "bags by offsets": Case(
        lambda: Function(lambda m, x, at: m.bag(x, at), bag=nn.EmbeddingBag(ROWS, 7, mode="mean")),
        lambda batch: ragged(batch, last=False),
        by_row=False,
    ),
    "bags by offsets with an end": Case(
        lambda: Function(
            lambda m, x, at: m.bag(x, at),
            bag=nn.EmbeddingBag(ROWS, 17, mode="max", include_last_offset=True),
        ),
        lambda batch: ragged(batch, last=True),
        by_row=False,
    ),
    "bags by offsets with an end, beside numbers": Case(
        lambda: Function(
            lambda m, x, at, dense: m.last(torch.cat([m.bag(x, at), dense], 1)),
            bag=nn.EmbeddingBag(ROWS, 7, mode="sum", include_last_offset=True),
            last=nn.Linear(10, 1),
        ),
        lambda batch: (*ragged(batch, last=True), torch.randn(batch, 3)),
        by_row=False,
    ),
    "masked pooling": Case(
        lambda: Function(masked_pools, item=nn.Embedding(ROWS, 9, padding_idx=0)),
        lambda batch: (ids(batch, 11, high=4), torch.randint(0, 12, (batch,))),
    ),
    "attention to a target": Case(
        lambda: Function(
            interest,
            item=nn.Embedding(ROWS, 9, padding_idx=0),
            score=nn.Sequential(nn.Linear(36, 17), nn.PReLU(), nn.Linear(17, 1)),
            last=nn.Linear(18, 1),
        ),
        lambda batch: (ids(batch, 13, high=4), ids(batch)),
    ),
    "stored indices": Case(
        lambda: Function(
            stored_indices,
            item=table(5),
            starts=stored(torch.tensor([0, 10, 20])),
            left=stored(torch.tensor([0, 0, 1])),
            right=stored(torch.tensor([1, 2, 2])),
            group=stored(torch.randint(0, ROWS, (10, 2))),
        ),
        lambda batch: (ids(batch, 3, high=10),),
    ),
    "hashed ids": Case(
        lambda: Function(
            lambda m, x: m.a((x * 2654435761 + 12345) % ROWS) * m.b((x ^ (x >> 16)) & 31),
            a=table(4),
            b=table(4),
        ),
        lambda batch: (torch.randint(0, 2**40, (batch, 3)),),
    ),
    "ids among the numbers": Case(
        lambda: Function(
            lambda m, x: m.last(torch.cat([m.t(x[:, :3].long()).flatten(1), x[:, 3:]], 1)),
            t=table(4),
            last=nn.Linear(16, 1),
        ),
        lambda batch: (torch.cat([ids(batch, 3).float(), torch.randn(batch, 4)], 1),),
        spoilt=False,
    ),
}
