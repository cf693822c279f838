"""Models of how features interact: crosses, attention, gates, experts, towers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from tests.end_to_end.eager import Arguments, Case, Function

FIELDS, WIDTH = 6, 5


def numbers(*shape: int) -> Callable[[int], Arguments]:
    return lambda batch: (torch.randn(batch, *shape),)


class Dice(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width, eps=1e-8)
        self.slope = nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor) -> Tensor:
        gate = self.norm(x).sigmoid()
        return self.slope * (1 - gate) * x + gate * x


def trained(model: nn.Module) -> nn.Module:
    """Statistics and scales as training leaves them."""
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d) and part.running_mean is not None:
            part.running_mean.normal_()
            nn.init.uniform_(part.weight, 0.5, 2)
            nn.init.normal_(part.bias)
    return model


def layers(*parts: nn.Module) -> nn.Module:
    return trained(nn.Sequential(*parts))


def crosses(m: Any, x: Tensor) -> list[Tensor]:
    vector, matrix = x, x
    for layer in m.cross:
        vector = x * (vector @ layer.weight[:1].t()) + layer.bias + vector
        matrix = x * layer(matrix) + matrix
    return [vector, matrix]


def pairs(m: Any, x: Tensor) -> list[Tensor]:
    every = [(i, j) for i in range(FIELDS) for j in range(i + 1, FIELDS)]
    products = torch.stack([x[:, i] * x[:, j] for i, j in every], 1)
    weights = m.attention(products).relu().softmax(1)
    machine = 0.5 * (x.sum(1) ** 2 - (x**2).sum(1)).sum(1, keepdim=True)
    bilinear = torch.cat([m.sides[i](x[:, i]) * x[:, j] for i, j in every], 1)
    return [machine, (weights * products).sum(1), bilinear]


def squeeze_and_excite(m: Any, x: Tensor) -> Tensor:
    scale = m.up(m.down(x.mean(2)).relu()).relu()
    return (x * scale.unsqueeze(2)).flatten(1)


def experts(m: Any, x: Tensor) -> tuple[Tensor, ...]:
    made = torch.stack([expert(x).relu() for expert in m.experts], 1)
    mixed = [(gate(x).softmax(1).unsqueeze(2) * made).sum(1) for gate in m.gates]
    return tuple(tower(x).sigmoid() for tower, x in zip(m.towers, mixed, strict=True))


def sparse_experts(m: Any, x: Tensor) -> Tensor:
    gate = m.gate(x)
    best = gate.topk(2, 1)
    weights = torch.zeros_like(gate).scatter(1, best.indices, best.values.softmax(1))
    return (weights.unsqueeze(2) * torch.stack([e(x) for e in m.experts], 1)).sum(1)


def towers(m: Any, user: Tensor, item: Tensor) -> list[Tensor]:
    a, b = m.user(user), m.item(item)
    return [
        F.cosine_similarity(a, b),
        (F.normalize(a, dim=1) * F.normalize(b, dim=1)).sum(1) / 0.07,
    ]


def attentions(m: Any, x: Tensor, absent: Tensor) -> list[Tensor]:
    absent = absent & (torch.arange(FIELDS) > 0)
    mixed, _ = m.attention(x, x, x, key_padding_mask=absent, need_weights=False)
    return [mixed, m.encoder(x).mean(1)]


def sums(m: Any, x: Tensor) -> list[Tensor]:
    return [
        torch.einsum("bfd,bgd->bfg", x, x)[:, *torch.triu_indices(FIELDS, FIELDS, 1)],
        torch.einsum("bfd,fde->be", x, m.by_field),
        torch.einsum("bfd,de->bfe", x, m.shared),
    ]


def convolutions(m: Any, x: Tensor) -> list[Tensor]:
    pooled = F.max_pool2d(m.wide(x.unsqueeze(1)).tanh(), (2, 1)).flatten(1)
    outer = torch.einsum("bhd,bmd->bhmd", x, x).reshape(x.shape[0], FIELDS**2, WIDTH)
    best = m.wide(x.unsqueeze(1)).topk(3, 2)[0].flatten(1)
    return [m.along(x).relu().amax(2), pooled, m.compress(outer).sum(2), best]


INTERACTIONS: dict[str, Case] = {
    "layers and norms": Case(
        lambda: layers(
            nn.BatchNorm1d(13), nn.Linear(13, 33), nn.BatchNorm1d(33), nn.GELU(), nn.LayerNorm(33),
            nn.SiLU(), nn.Linear(33, 17), Dice(17), nn.Linear(17, 7), nn.PReLU(7), nn.Linear(7, 1),
        ),
        numbers(13),
    ),
    "fifty layers": Case(
        lambda: layers(*(p for _ in range(50) for p in (nn.Linear(33, 33), nn.ReLU()))), numbers(33)
    ),
    "a thousand outputs": Case(
        lambda: layers(nn.Linear(129, 1000), nn.ReLU(), nn.Linear(1000, 3)), numbers(129)
    ),
    "one weight twice": Case(
        lambda: Function(lambda m, x: m.l(m.l(x).relu()) + x @ m.l.weight, l=nn.Linear(17, 17)),
        numbers(17),
    ),
    "crosses": Case(
        lambda: Function(crosses, cross=nn.ModuleList(nn.Linear(17, 17) for _ in range(3))),
        numbers(17),
        spoilt=False,
    ),
    "pairs": Case(
        lambda: Function(
            pairs,
            attention=nn.Linear(WIDTH, 1),
            sides=nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(FIELDS)),
        ),
        numbers(FIELDS, WIDTH),
    ),
    "squeeze and excite": Case(
        lambda: Function(squeeze_and_excite, down=nn.Linear(9, 3), up=nn.Linear(3, 9)),
        numbers(9, 4),
    ),
    "experts": Case(
        lambda: Function(
            experts,
            experts=nn.ModuleList(nn.Linear(17, 33) for _ in range(5)),
            gates=nn.ModuleList(nn.Linear(17, 5) for _ in range(3)),
            towers=nn.ModuleList(nn.Linear(33, 1) for _ in range(3)),
        ),
        numbers(17),
    ),
    "the two best experts": Case(
        lambda: Function(
            sparse_experts,
            gate=nn.Linear(9, 4),
            experts=nn.ModuleList(nn.Linear(9, 5) for _ in range(4)),
        ),
        numbers(9),
        spoilt=False,
    ),
    "two towers": Case(
        lambda: Function(towers, user=nn.Linear(7, 8), item=nn.Linear(9, 8)),
        lambda batch: (torch.randn(batch, 7), torch.randn(batch, 9)),
    ),
    "attention": Case(
        lambda: Function(
            attentions,
            attention=nn.MultiheadAttention(8, 2, batch_first=True),
            encoder=nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True),
        ),
        lambda batch: (torch.randn(batch, FIELDS, 8), torch.rand(batch, FIELDS) < 0.4),
    ),
    "sums of products": Case(
        lambda: Function(
            sums,
            by_field=nn.Parameter(torch.randn(FIELDS, WIDTH, 3)),
            shared=nn.Parameter(torch.randn(WIDTH, 17)),
        ),
        numbers(FIELDS, WIDTH),
    ),
    "convolutions": Case(
        lambda: Function(
            convolutions,
            wide=nn.Conv2d(1, 3, (3, 1), padding=(1, 0)),
            along=nn.Conv1d(FIELDS, 8, 3, stride=2, dilation=1, groups=2),
            compress=nn.Conv1d(FIELDS**2, 11, 1),
        ),
        numbers(FIELDS, WIDTH),
        spoilt=False,
    ),
}  # fmt: skip
