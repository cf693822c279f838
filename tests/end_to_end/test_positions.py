"""Positions that a model computes are checked before they are used."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import swath
from swath.errors import InvalidInput


class Reads(nn.Module):
    """Reads a table that is an input, at ids that are one."""

    def forward(self, table: Tensor, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, table).sum(1)


def test_a_table_that_is_an_input() -> None:
    model, table = Reads().eval(), torch.rand(50, 8)
    shapes = {"table": None, "ids": {0: Dim.DYNAMIC}}
    program = swath.compile(model, (table, torch.zeros(6, 3, dtype=torch.long)),
                            dynamic_shapes=shapes)  # fmt: skip
    ids = torch.randint(0, 50, (9, 3))
    torch.testing.assert_close(program(table, ids), model(table, ids))
    ids[4, 1] = 50
    with pytest.raises(InvalidInput, match=r"SW121.*position 50 .* 50 elements") as raised:
        program(table, ids)
    assert "row 4" in str(raised.value)
