"""Commands of the command line in tests: what they leave, and a file with models for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODEL = """
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.hidden = nn.Linear(19, 8)
        self.score = nn.Linear(8, 1)

    def forward(self, ids, dense):
        features = torch.cat([self.table(ids), dense], -1)
        return torch.sigmoid(self.score(torch.relu(self.hidden(features))))


def make(seed=0):
    print("a model that talks on stdout")
    torch.manual_seed(seed)
    return Scorer(), (torch.randint(0, 100, (8,)), torch.randn(8, 3))


def other():
    return make(1)


def fails():
    raise ValueError("there are no weights")


def nothing():
    return Scorer()


class Sizes(nn.Module):
    def forward(self, ids):
        return ids.unique()


def sizes():
    return Sizes(), (torch.randint(0, 9, (8,)),)


MODELS = {"one": make}
"""


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def next(self) -> str:
        """The command that the last line of stderr proposes."""
        last = self.err.rstrip().splitlines()[-1]
        assert last.startswith("next: "), self.err
        return last.removeprefix("next: ")

    @property
    def document(self) -> dict[str, Any]:
        """stdout as JSON."""
        return json.loads(self.out)


Run = Callable[..., Ran]
