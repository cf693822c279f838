"""Random programs of views and in-place writes agree with eager, whatever shares memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.frontends.agreement import agree

Step = Callable[[list[Any]], None]


def split_sizes(size: int) -> list[int]:
    return [1, size - 1] if size > 1 else [1]


def viewed(tensor: Any, choice: random.Random) -> Any:
    """A random view of a tensor whose batch is the first axis (or what PyTorch makes a copy)."""
    last = tensor.dim() - 1
    axis = choice.randint(1, last) if last else 0
    size = int(tensor.shape[axis]) if axis else 0
    kind = choice.randrange(9)
    if kind == 0 and last > 1:
        return tensor.transpose(1, last)
    if kind == 1 and axis and size > 1:
        start = choice.randrange(size - 1)
        return tensor.narrow(axis, start, choice.randint(1, size - start))
    if kind == 2 and axis and last > 1:
        return tensor.select(axis, choice.randrange(size))
    if kind == 3:
        return tensor.unsqueeze(choice.randint(1, last + 1)) if last < 4 else tensor
    if kind == 4 and last > 1:
        return tensor.flatten(1)
    if kind == 5 and axis:
        return tensor.split(split_sizes(size), dim=axis)[0]
    if kind == 6 and axis and size % 2 == 0 and last < 4:
        return tensor.reshape(*tensor.shape[:axis], 2, size // 2, *tensor.shape[axis + 1 :])
    if kind == 7:
        return tensor.contiguous()
    if kind == 8 and axis and size > 2:
        return tensor[(slice(None),) * axis + (slice(0, size, 2),)]
    return tensor.detach()


def written(tensor: Any, others: list[Any], choice: random.Random) -> None:
    """A random in-place operation."""
    kind = choice.randrange(7)
    same = [other for other in others if other.shape[1:] == tensor.shape[1:]]
    if kind == 0:
        tensor.add_(choice.choice(same))
    elif kind == 1:
        tensor.mul_(0.5)
    elif kind == 2:
        tensor.clamp_(-0.5, 0.5)
    elif kind == 3:
        tensor.copy_(choice.choice(same) * 1)
    elif kind == 4:
        tensor[:] = 0.25
    elif kind == 5:
        tensor.masked_fill_(tensor > 0.7, -1)
    elif tensor.dim() > 1:
        tensor[:, choice.randrange(int(tensor.shape[1]))] = choice.random()


class Program(nn.Module):
    """The random program of a seed; it gives back every tensor that it made."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        choice = random.Random(self.number)
        tensors: list[Any] = [x.clone()]
        for _ in range(14):
            tensor = choice.choice(tensors)
            kind = choice.randrange(8)
            if kind < 4:
                tensors.append(viewed(tensor, choice))
            elif kind < 7:
                written(tensor, tensors, choice)
            else:
                tensors.append(torch.tanh(tensor) + 0.1)
        return tensors


@pytest.mark.parametrize("number", range(12))
def test_random_programs_of_views_and_writes_agree(number: int) -> None:
    agree(Program(number), lambda batch: (torch.randn(batch, 4, 6),), batches=(5,))
