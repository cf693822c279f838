"""Whole programs: blocks without gradients, constants computed at import, known models."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
import torch
from torch import nn

from swath.errors import UnsupportedModel
from swath.frontends.check import check
from swath.frontends.torch_export import import_program
from tests.frontends.agreement import agree, seed

T: Any = torch  # functions that torch annotates only in part


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.layer(x) + 1

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            y = self.layer(x)
            y[:, 0] = 1
            with torch.enable_grad():
                z = self.helper(y) * 2
            y += z
        with torch.autocast("cpu", enabled=False):
            z = z @ torch.ones(3, 2)
        return y, z


def test_blocks_without_gradients_are_put_in_line() -> None:
    agree(Blocks(), lambda batch: (torch.randn(batch, 3),))


class LowPrecision(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ torch.ones(3, 2)
        return y.float()


def test_autocast_to_half_precision_is_refused() -> None:
    (problem,) = check(LowPrecision().eval(), (torch.randn(4, 3),))
    assert problem.id == "SW014"


class FromWeights(nn.Module):
    """Computes much from its weights alone, with operations that have no rule."""

    neighbours: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.users = nn.Parameter(torch.randn(5, 4))
        self.register_buffer("neighbours", (torch.rand(5, 5) > 0.5).float().to_sparse())
        self.square = nn.Parameter(torch.randn(4, 4))
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = T.sparse.mm(self.neighbours, self.users)
        turned: torch.Tensor = seen @ T.linalg.matrix_exp(self.square)
        count = int(self.neighbours.to_dense().sum().item())
        return self.normed(turned[ids]) * count


def test_what_depends_on_weights_alone_is_computed_at_import() -> None:
    seed(1)
    imported = agree(FromWeights(), lambda batch: (torch.randint(0, 5, (batch,)),), tolerance=1e-4)
    assert not any("matrix_exp" in node.output.name for node in imported.graph.nodes)


class ReadsWeights(nn.Module):
    """Python branches on, and takes numbers from, what is the same in every call."""

    flags: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("flags", torch.tensor([True, False, True]))
        self.scale = nn.Parameter(torch.tensor(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [x[:, i] * 2 if flag else x[:, i] for i, flag in enumerate(self.flags)]
        if (self.scale + 1).item() > 2:
            parts.append(parts[0] * self.scale)
        return torch.stack(parts, 1)


def test_python_may_read_what_depends_on_no_input() -> None:
    agree(ReadsWeights(), lambda batch: (torch.randn(batch, 3),))


class Unused(nn.Module):
    """Holds unsupported operations that reach no output."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        loss = torch.randn(3).sum() + T.fft.rfft(x).abs().sum() + x.mean()
        scratch = torch.zeros(3)
        scratch += loss
        return x * 2


def test_what_reaches_no_output_is_no_problem() -> None:
    imported = agree(Unused(), lambda batch: (torch.randn(batch, 3),))
    assert len(imported.graph.nodes) == 1


class Cond(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return T.cond(x.sum() > 0, torch.relu, torch.tanh, (x,))


def test_control_flow_operators_are_refused() -> None:
    problems = check(Cond().eval(), (torch.randn(4, 3),))
    assert "SW005" in {problem.id for problem in problems}


def columns() -> list[Any]:
    from deepctr_torch.inputs import DenseFeat, SparseFeat

    sparse = [SparseFeat(f"C{i}", 50 + i, embedding_dim=4) for i in range(4)]
    return [*sparse, *(DenseFeat(f"I{i}", 1) for i in range(3))]


def deepctr(name: str) -> nn.Module:
    with contextlib.redirect_stderr(io.StringIO()):
        import deepctr_torch.models as zoo

    seed(2)
    features = columns()
    if name in ("PNN", "MMOE"):
        model: nn.Module = getattr(zoo, name)(features, device="cpu")
    else:
        model = getattr(zoo, name)(features, features, device="cpu")
    for parameter in model.parameters():
        nn.init.normal_(parameter, 0, 0.3)
    return model.eval()


def matrix(batch: int) -> tuple[torch.Tensor]:
    ids = torch.randint(0, 50, (batch, 4)).float()
    return (torch.cat([ids, torch.randn(batch, 3)], 1),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["DeepFM", "DCN", "xDeepFM", "AutoInt", "NFM", "PNN", "MMOE"])
def test_deepctr_models_agree(name: str) -> None:
    imported = agree(deepctr(name), matrix, example_batch=1, batches=(1, 7), tolerance=1e-5)
    assert str(imported.graph.inputs[0].type) == "f32[B,7]"


def test_every_problem_names_a_remedy_in_the_catalogue() -> None:
    from swath.errors import catalogue

    with pytest.raises(UnsupportedModel) as caught:
        import_program(LowPrecision().eval(), (torch.randn(4, 3),))
    assert all(problem.id in catalogue() for problem in caught.value.problems)
