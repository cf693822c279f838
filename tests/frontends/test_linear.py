"""Matrix products, normalisations, attention, convolutions agree with eager."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody names it
from torch import nn

from tests.frontends.agreement import Cases, One, agree

T: Any = torch  # functions that torch annotates only in part
A = torch.randn(6, 5)
V = torch.randn(6)
W = torch.randn(3, 4, 6)


def cube(batch: int) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 4, 6),)


def test_products_agree() -> None:
    cases: One = {
        "linear": lambda x: F.linear(x, A.t(), torch.ones(5)),
        "linear_vector": lambda x: F.linear(x, V),
        "matmul": lambda x: x @ A,
        "matmul_vector": lambda x: x @ V,
        "vector_matmul": lambda x: V @ x.mT,
        "matmul_both": lambda x: x @ x.mT,
        "bmm": lambda x: torch.bmm(x, x.mT),
        "mm": lambda x: torch.mm(x[:, 0], A),
        "mv": lambda x: torch.mv(x[:, 0], V),
        "addmm": lambda x: torch.addmm(torch.ones(5), x[:, 0], A, beta=2, alpha=0.5),
        "addmm_zero": lambda x: torch.addmm(torch.ones(5), x[:, 0], A, beta=0),
        "baddbmm": lambda x: torch.baddbmm(torch.ones(4, 4), x, x.mT, alpha=0.5),
        "outer": lambda x: x[:, 0, 0, None] * torch.outer(V, V)[0],
        "dot": lambda x: x * torch.dot(V, V),
        "tensordot": lambda x: T.tensordot(x, A, dims=([-1], [0])),
        "tensordot_two": lambda x: T.tensordot(x, W, dims=([1, 2], [1, 2])),
        "bilinear": lambda x: F.bilinear(x[:, 0], x[:, 1, :4], torch.ones(2, 6, 4) * 0.1),
        "inner": lambda x: torch.inner(x, A.t()),
    }
    agree(Cases(cases), cube, tolerance=1e-5)


def test_einsum_agrees() -> None:
    equations_of_one = ("bij->bji", "bij->b", "bij->bj", "bij")
    cases: One = {eq: lambda x, eq=eq: torch.einsum(eq, x) for eq in equations_of_one}
    with_itself = (
        "bij,bkj->bik",
        "bij,bij->bi",
        "bij,bij->b",
        "bij,bij->bij",
        "bij,bkj->bikj",
        "...j,...j->...",
        "bij,bkl->bikjl",
    )
    cases |= {eq: lambda x, eq=eq: torch.einsum(eq, x, x) for eq in with_itself}
    cases |= {
        "weights": lambda x: torch.einsum("bij,oij->bo", x, W),
        "ellipsis": lambda x: torch.einsum("...j,jk->...k", x, A),
        "implicit": lambda x: torch.einsum("bij,jk", x, A),
        "three": lambda x: torch.einsum("bij,jk,bik->bi", x, A, x @ A),
        "spaces": lambda x: torch.einsum("b i j, j -> b i", x, V),
        "batch_last": lambda x: torch.einsum("bij,oij->ob", x, W),
    }
    agree(Cases(cases), cube, tolerance=1e-5)


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.channels = nn.BatchNorm1d(4)
        self.plain = nn.BatchNorm1d(6, affine=False)
        self.layer = nn.LayerNorm(6)
        self.layers = nn.LayerNorm([4, 6], elementwise_affine=False)
        self.unbiased = nn.LayerNorm(6, bias=False)
        self.rms = nn.RMSNorm(6)
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm1d(4, affine=True)
        for norm in (self.channels, self.plain):
            assert norm.running_mean is not None
            assert norm.running_var is not None
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [
            self.channels(x), self.plain(x[:, 0]), self.layer(x), self.layers(x), self.rms(x),
            self.unbiased(x), self.group(x), self.instance(x),
        ]  # fmt: skip


def test_normalisations_agree() -> None:
    agree(Norms(), cube, tolerance=1e-5)


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.multi = nn.MultiheadAttention(6, 2, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)

    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> list[torch.Tensor]:
        causal = torch.ones(4, 4, dtype=torch.bool).tril()
        heads = x.view(-1, 4, 2, 3).transpose(1, 2)
        return [
            F.scaled_dot_product_attention(x, x, x),
            F.scaled_dot_product_attention(x, x, x, is_causal=True),
            F.scaled_dot_product_attention(heads, heads, heads, attn_mask=causal, scale=0.3),
            F.scaled_dot_product_attention(x, x, x, attn_mask=torch.randn(4, 4)) * 0 + x,
            F.scaled_dot_product_attention(heads, heads[:, :1], heads[:, :1], enable_gqa=True),
            self.multi(x, x, x, key_padding_mask=~keep, need_weights=False)[0],
            self.multi(x, x, x)[1],
            self.encoder(x),
        ]


class FixedMask(Heads):
    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> list[torch.Tensor]:
        mask = torch.linspace(-1, 1, 16).reshape(4, 4)
        heads = x.view(-1, 4, 2, 3).transpose(1, 2)
        return [
            F.scaled_dot_product_attention(x, x, x),
            F.scaled_dot_product_attention(x, x, x, is_causal=True),
            F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask, scale=0.3),
            F.scaled_dot_product_attention(heads, heads[:, :1], heads[:, :1], enable_gqa=True),
            self.multi(x, x, x, key_padding_mask=~keep, need_weights=False)[0],
            self.multi(x, x, x)[1],
            self.encoder(x),
        ]


def test_attention_agrees() -> None:
    def make(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        keep = torch.arange(4) < torch.randint(1, 5, (batch, 1))
        return torch.randn(batch, 4, 6), keep

    agree(FixedMask(), make, tolerance=1e-5)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv1d(4, 3, 2, stride=2, padding=1)
        self.same = nn.Conv1d(4, 4, 4, padding="same", groups=2)
        self.dilated = nn.Conv1d(4, 2, 2, dilation=2, bias=False)
        self.two = nn.Conv2d(1, 3, (3, 1), padding=(1, 0))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        image = x.unsqueeze(1)
        return [
            self.one(x), self.same(x), self.dilated(x), self.two(image),
            F.max_pool1d(x, 2), F.max_pool1d(x, 3, stride=2, padding=1),
            F.max_pool1d(x, 4, ceil_mode=True), F.max_pool2d(image, (2, 3)),
            F.avg_pool1d(x, 2), F.avg_pool1d(x, 3, 1, 1, count_include_pad=False),
            F.avg_pool2d(image, 2), F.adaptive_avg_pool1d(x, 1), F.adaptive_avg_pool1d(x, 3),
            F.adaptive_max_pool1d(x, 1), F.adaptive_avg_pool2d(image, (2, 1)),
        ]  # fmt: skip


def test_convolutions_agree() -> None:
    agree(Convolutions(), cube, tolerance=1e-5)
