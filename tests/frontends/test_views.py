"""Views, joins and repeats agree with eager."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody names it

from tests.frontends.agreement import Cases, One, agree

T: Any = torch  # functions that torch annotates only in part


def cube(batch: int) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 4, 6),)


def test_views_agree() -> None:
    cases: One = {
        "view": lambda x: x.view(-1, 24),
        "merge_batch": lambda x: x.reshape(-1, 6),
        "unmerge": lambda x: x.reshape(-1, 6).reshape(x.shape[0], 24),
        "flatten": lambda x: x.flatten(1),
        "unflatten": lambda x: x.unflatten(2, (2, 3)),
        "view_as": lambda x: x.view_as(x),
        "unsqueeze": lambda x: x.unsqueeze(-1).unsqueeze(0),
        "squeeze": lambda x: x[:, :1].squeeze(1),
        "squeeze_dims": lambda x: x[:, :1, :1].squeeze((1, 2)),
        "permute": lambda x: x.permute(2, 0, 1),
        "transpose": lambda x: x.transpose(-1, 1),
        "mt": lambda x: x.mT,
        "movedim": lambda x: x.movedim(0, -1),
        "movedims": lambda x: x.movedim((0, 1), (1, 2)),
        "expand": lambda x: x.unsqueeze(1).expand(-1, 5, -1, -1),
        "expand_as": lambda x: x[:, :1].expand_as(x),
        "broadcast_to": lambda x: torch.zeros(6).broadcast_to(x.shape),
        "slice": lambda x: x[:, 1:3, ::2],
        "slice_negative": lambda x: x[..., -2:],
        "slice_past": lambda x: x[:, 2:100],
        "narrow": lambda x: x.narrow(2, 1, 3),
        "select": lambda x: x[:, -1],
        "ellipsis": lambda x: x[..., None, 2],
        "split": lambda x: x.split(4, dim=2),
        "split_sizes": lambda x: torch.split(x, [1, 2, 3], dim=-1),
        "chunk": lambda x: x.chunk(4, dim=2),
        "tensor_split": lambda x: torch.tensor_split(x, 4, dim=2),
        "tensor_split_at": lambda x: torch.tensor_split(x, (1, 4), dim=2),
        "unbind": lambda x: x.unbind(1),
        "diagonal": lambda x: x.diagonal(1, 1, 2),
        "unfold": lambda x: x.unfold(2, 3, 2),
        "numpy_t": lambda x: x[:, 0].t(),
    }
    agree(Cases(cases), cube)


def test_joins_and_repeats_agree() -> None:
    cases: One = {
        "cat": lambda x: torch.cat([x, x[:, :2]], 1),
        "cat_types": lambda x: torch.cat([x, x.long()], 2),
        "stack": lambda x: torch.stack([x, x + 1], 1),
        "stack_last": lambda x: torch.stack([x, x + 1], -1),
        "hstack": lambda x: torch.hstack([x, x]),
        "repeat": lambda x: x.repeat(1, 2, 3),
        "repeat_lead": lambda x: x.repeat(2, 1, 1, 1),
        "tile": lambda x: torch.tile(x, (2,)),
        "repeat_constant": lambda x: torch.arange(3).repeat(x.shape[0], 1),
        "interleave": lambda x: x.repeat_interleave(3, dim=1),
        "interleave_batch": lambda x: x.repeat_interleave(2, dim=0),
        "interleave_counts": lambda x: x.repeat_interleave(torch.tensor([1, 0, 2, 1]), dim=1),
        "roll": lambda x: x.roll(2, 2),
        "roll_two": lambda x: x.roll((1, -1), (1, 2)),
        "flip": lambda x: x.flip(1, 2),
        "pad": lambda x: F.pad(x, (1, 2)),
        "pad_two": lambda x: F.pad(x, (0, 1, 2, 0), value=3.0),
        "pad_cut": lambda x: F.pad(x, (-1, 1)),
        "pad_reflect": lambda x: F.pad(x, (2, 1), mode="reflect"),
        "pad_replicate": lambda x: F.pad(x, (2, 1), mode="replicate"),
        "broadcast_tensors": lambda x: T.broadcast_tensors(x[:, :1], x),
    }
    agree(Cases(cases), cube)


def test_created_tensors_agree() -> None:
    cases: One = {
        "zeros": lambda x: x.new_zeros(x.shape[0], 3) + torch.zeros(3),
        "ones": lambda x: torch.ones_like(x) + torch.ones(6),
        "full": lambda x: torch.full((x.shape[0], 2), 2.5),
        "full_like": lambda x: torch.full_like(x, 3),
        "new_full": lambda x: x.new_full((x.shape[0],), 7, dtype=torch.int64),
        "arange": lambda x: x + torch.arange(6),
        "arange_batch": lambda x: torch.arange(x.shape[0]),
        "arange_step": lambda x: x + torch.arange(1, 13, 2),
        "arange_float": lambda x: x + torch.arange(0, 3, 0.5),
        "linspace": lambda x: x + torch.linspace(0, 1, 6),
        "eye": lambda x: x + torch.eye(4, 6),
        "tensor": lambda x: x + torch.tensor([1.0, 2, 3, 4, 5, 6]),
        "tril": lambda x: x.tril(),
        "triu": lambda x: x.triu(1),
        "causal": lambda x: x.masked_fill(torch.ones(4, 6).triu(1).bool(), -1e9),
        "one_hot": lambda x: F.one_hot((x.abs() * 3).long().clamp(max=9), 10),
        "scalar": lambda x: x * torch.scalar_tensor(2.0),
        "meshgrid": lambda x: (
            x + torch.meshgrid(torch.arange(4), torch.arange(6), indexing="ij")[0]
        ),
    }
    agree(Cases(cases), cube)


class Squeezing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.unsqueeze(1).squeeze()


def test_bare_squeeze_keeps_the_batch_axis() -> None:
    # Eager drops the batch axis at batch 1; the other batches say what is meant.
    imported = agree(Squeezing(), lambda batch: (torch.randn(batch, 5),), batches=(2, 7))
    assert str(imported.graph.outputs[0].type) == "f32[B,5]"
