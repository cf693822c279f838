"""Reductions, softmax and ordering agree with eager."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody names it

from tests.frontends.agreement import Cases, One, agree

T: Any = torch  # functions that torch annotates only in part


def cube(batch: int) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 4, 6),)


def test_reductions_agree() -> None:
    cases: One = {
        "sum": lambda x: x.sum(1),
        "sum_keep": lambda x: x.sum((1, -1), keepdim=True),
        "sum_bool": lambda x: (x > 0).sum(2),
        "sum_dtype": lambda x: x.sum(1, dtype=torch.float64),
        "mean": lambda x: x.mean(dim=-1),
        "mean_keep": lambda x: x.mean((1, 2), keepdim=True),
        "nansum": lambda x: torch.nansum(x, 1),
        "max": lambda x: x.max(dim=1),
        "min": lambda x: x.min(dim=-1, keepdim=True),
        "amax": lambda x: x.amax((1, 2)),
        "amin": lambda x: x.amin(1),
        "argmax": lambda x: x.argmax(1),
        "argmin": lambda x: x.argmin(-1, keepdim=True),
        "aminmax": lambda x: torch.aminmax(x, dim=1),
        "prod": lambda x: x.prod(1),
        "any": lambda x: (x > 1).any(1),
        "all": lambda x: (x > -1).all(2, keepdim=True),
        "any_number": lambda x: x.any(1),
        "count": lambda x: torch.count_nonzero(x > 0, 1),
        "logsumexp": lambda x: x.logsumexp(1),
        "logsumexp_keep": lambda x: x.logsumexp((1, 2), keepdim=True),
        "whole_of_constant": lambda x: x * torch.arange(6.0).sum(),
    }
    agree(Cases(cases), cube)


def test_spreads_and_norms_agree() -> None:
    cases: One = {
        "var": lambda x: x.var(1),
        "var_biased": lambda x: x.var(1, unbiased=False),
        "var_correction": lambda x: x.var(-1, correction=2, keepdim=True),
        "std": lambda x: x.std(1),
        "std_two": lambda x: x.std((1, 2), correction=0),
        "var_mean": lambda x: torch.var_mean(x, 1),
        "std_mean": lambda x: torch.std_mean(x, 1),
        "norm": lambda x: x.norm(dim=1),
        "norm_1": lambda x: x.norm(p=1, dim=1, keepdim=True),
        "norm_3": lambda x: T.linalg.vector_norm(x, 3, dim=1),
        "norm_inf": lambda x: T.linalg.vector_norm(x, math.inf, dim=(1, 2)),
        "norm_0": lambda x: T.linalg.vector_norm(x, 0, dim=1),
        "normalize": lambda x: F.normalize(x, dim=-1),
        "distance": lambda x: F.pairwise_distance(x[:, 0], x[:, 1]),
        "mse": lambda x: F.mse_loss(x, x + 1, reduction="none"),
    }
    agree(Cases(cases), cube, tolerance=1e-5)


def test_softmax_and_running_sums_agree() -> None:
    cases: One = {
        "softmax": lambda x: x.softmax(-1),
        "softmax_middle": lambda x: F.softmax(x, dim=1),
        "softmax_double": lambda x: x.softmax(1, dtype=torch.float64),
        "softmin": lambda x: F.softmin(x, dim=1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "masked": lambda x: x.masked_fill(x < 0, -1e9).softmax(1),
        "cumsum": lambda x: x.cumsum(1),
        "cumsum_int": lambda x: (x > 0).cumsum(-1),
        "cumprod": lambda x: x.cumprod(1),
    }
    agree(Cases(cases), cube)


def test_ordering_agrees() -> None:
    cases: One = {
        "sort": lambda x: x.sort(1),
        "sort_down": lambda x: x.sort(-1, descending=True),
        "argsort": lambda x: x.argsort(-1),
        "argsort_stable": lambda x: (x > 0).int().argsort(dim=-1, stable=True),
        "topk": lambda x: x.topk(3, dim=-1),
        "topk_small": lambda x: x.topk(2, dim=1, largest=False),
        "kth": lambda x: x.kthvalue(2, dim=1),
        "median": lambda x: x.median(dim=1),
    }
    agree(Cases(cases), cube)
