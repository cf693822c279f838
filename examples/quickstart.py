"""The README's first program: a ranking model compiled, saved, loaded and called."""

import numpy as np
import torch
from torch import nn

import swath


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(100_000, 16)
        self.layers = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, item, dense):
        return self.layers(torch.cat([self.item(item), dense], dim=1)).sigmoid()


def ranker():
    torch.manual_seed(0)
    return Ranker().eval(), (torch.arange(8), torch.rand(8, 8))


if __name__ == "__main__":
    swath.compile(*ranker()).save("ranker.swath", overwrite=True)
    program = swath.load("ranker.swath")  # from here on PyTorch isn't needed
    print(program)
    print(program(np.array([3, 99_999]), np.ones((2, 8), np.float32)))
