"""A DLRM (Naumov et al., 2019) with `nn.EmbeddingBag`, written from its public description.

    swath check examples/dlrm.py:dlrm
    swath bench examples/dlrm.py:dlrm

Dense features go through a bottom network; each categorical feature is a bag of ids pooled by an
embedding bag; the dot products of all pairs of these vectors, joined with the bottom network's
output, go through a top network.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

Inputs: TypeAlias = tuple[Tensor, list[Tensor], list[Tensor]]

VOCABULARIES = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
POOLINGS = ("sum", "mean", "max", "sum", "mean", "max")
DENSE_COLUMNS = 13
WIDTH = 32
EXAMPLE_BATCH = 64


def perceptron(sizes: Sequence[int], last: nn.Module) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them and `last` at the end."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], last)


def embedding_bag(vocabulary: int, pooling: str) -> nn.EmbeddingBag:
    """A table of `vocabulary` rows with weights of the size that training gives."""
    bag = nn.EmbeddingBag(vocabulary, WIDTH, mode=pooling)
    nn.init.normal_(bag.weight, 0, 0.1)
    return bag


class Dlrm(nn.Module):
    """Scores [batch, 1] from dense features [batch, 13] and one bag of ids per row and categorical
    feature.

    Feature f has its ids in `values[f]`, those of row r from `offsets[f][r]` to where the next
    row's begin.
    """

    pair_left: Tensor
    pair_right: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(
            embedding_bag(vocabulary, pooling)
            for vocabulary, pooling in zip(VOCABULARIES, POOLINGS, strict=True)
        )
        vectors = len(VOCABULARIES) + 1
        self.bottom = perceptron((DENSE_COLUMNS, 256, 128, WIDTH), nn.ReLU())
        self.top = perceptron((WIDTH + vectors * (vectors - 1) // 2, 256, 128, 1), nn.Sigmoid())
        left, right = torch.tril_indices(vectors, vectors, offset=-1)
        self.register_buffer("pair_left", left)
        self.register_buffer("pair_right", right)

    def forward(self, dense: Tensor, values: list[Tensor], offsets: list[Tensor]) -> Tensor:
        bottom = self.bottom(dense)
        pooled = [
            bag(ids, begins) for bag, ids, begins in zip(self.bags, values, offsets, strict=True)
        ]
        vectors = torch.stack([bottom, *pooled], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        pairs = products[:, self.pair_left, self.pair_right]
        return self.top(torch.cat([bottom, pairs], dim=1))


def make_inputs(batch: int, seed: int) -> Inputs:
    """Dense features, ids and offsets of `batch` rows; bags hold 0 to 20 ids, by Zipf's law."""
    random = np.random.default_rng(seed)
    dense = np.log1p(random.lognormal(1.5, 2.0, (batch, DENSE_COLUMNS))).astype(np.float32)
    values: list[Tensor] = []
    offsets: list[Tensor] = []
    for vocabulary in VOCABULARIES:
        lengths = random.integers(0, 21, batch)
        ids = np.exp(random.random(int(lengths.sum())) * np.log(vocabulary)).astype(np.int64)
        values.append(torch.as_tensor(np.minimum(ids, vocabulary - 1)))
        offsets.append(torch.as_tensor(np.cumsum(lengths) - lengths))
    return torch.as_tensor(dense), values, offsets


def take_rows(inputs: Inputs, first: int, last: int) -> Inputs:
    """The inputs of rows first to last - 1 alone."""
    dense, values, offsets = inputs
    taken_values: list[Tensor] = []
    taken_offsets: list[Tensor] = []
    for ids, begins in zip(values, offsets, strict=True):
        ends = [*begins.tolist(), len(ids)]
        taken_values.append(ids[ends[first] : ends[last]].contiguous())
        taken_offsets.append(begins[first:last] - ends[first])
    return dense[first:last].contiguous(), taken_values, taken_offsets


def dlrm() -> tuple[Dlrm, Inputs, Callable[[int, int], Inputs]]:
    """The model, example inputs, and a function that draws other inputs."""
    torch.manual_seed(0)
    return Dlrm().eval(), make_inputs(EXAMPLE_BATCH, 0), make_inputs
