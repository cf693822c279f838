"""Importing a model leaves it as it was."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from swath.frontends.torch_export import import_program


class Keeps(nn.Module):
    """Keeps scores of its last call in an attribute, as attention layers of public packages do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.scores = torch.softmax(self.layer(x), dim=1)
        self.calls += 1
        return self.scores * x


def test_no_attribute_is_left_behind() -> None:
    model = Keeps().eval()
    import_program(model, (torch.rand(3, 4),))
    assert not hasattr(model, "scores")
    assert model.calls == 0
    copy.deepcopy(model)


def test_an_attribute_keeps_its_value() -> None:
    model = Keeps().eval()
    with torch.no_grad():
        model(torch.rand(2, 4))
    before = model.scores
    import_program(model, (torch.rand(3, 4),))
    assert model.scores is before
    assert model.calls == 1
