"""Recurrent layers and cells agree with eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from swath.frontends.check import check
from tests.frontends.agreement import agree


class Layers(nn.Module):
    """All outputs of a recurrent layer."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.layer = kind(3, 4, **options)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize(
    "options",
    [{"batch_first": True}, {"batch_first": True, "num_layers": 2, "bidirectional": True},
     {"batch_first": True, "bias": False}],
)  # fmt: skip
def test_recurrent_layers_agree(kind: Any, options: dict[str, Any]) -> None:
    agree(Layers(kind, **options), lambda batch: (torch.randn(batch, 5, 3),))


class TimeFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(3, 4)
        self.relu = nn.RNN(4, 2, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.layer(x.transpose(0, 1))[0])[0].transpose(0, 1)


def test_time_may_come_first() -> None:
    agree(TimeFirst(), lambda batch: (torch.randn(batch, 5, 3),))


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRUCell(3, 4)
        self.lstm = nn.LSTMCell(3, 4)
        self.rnn = nn.RNNCell(3, 4, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = self.gru(x[:, 0])
        c = h
        for step in range(1, 3):
            h = self.gru(x[:, step], h)
            h, c = self.lstm(x[:, step], (h, c))
        return h, c, self.rnn(x[:, 0], h)


def test_cells_agree() -> None:
    agree(Cells(), lambda batch: (torch.randn(batch, 5, 3),))


def test_dropout_between_layers_is_off_in_eval_mode() -> None:
    model = Layers(nn.GRU, num_layers=2, dropout=0.5, batch_first=True).eval()
    assert check(model, (torch.randn(2, 5, 3),)) == []
