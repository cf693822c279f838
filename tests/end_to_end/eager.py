"""Compiled models against eager PyTorch: the numbers, and that a row depends on itself alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.utils import _pytree as pytree

import swath

Array = npt.NDArray[Any]
Arguments = tuple[Any, ...]
One = Callable[[Any, Any], Any]  # the model and one input
Two = Callable[[Any, Any, Any], Any]
Three = Callable[[Any, Any, Any, Any], Any]
BATCHES = (0, 1, 2, 7, 64, 257)
PLACES: tuple[Sequence[int], ...] = ([5], [256], range(3, 20), [7, 5, 256, 5], range(100, 257))
ABSOLUTE, RELATIVE = 1e-5, 1e-4
SPOILT = 64  # rows at the front that hold NaN or infinity


class Function(nn.Module):
    """A model from a function of (model, *inputs) and its parts."""

    def __init__(self, function: One | Two | Three, **parts: nn.Module | nn.Parameter) -> None:
        super().__init__()
        self.function: Callable[..., Any] = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


@dataclass(frozen=True)
class Case:
    """A model and its arguments for a batch.

    by_row   each argument has a row for each row of the batch, so that rows can be taken from it
    spoilt   NaN and infinity in float inputs give what they give in eager
    """

    make: Callable[[], nn.Module]
    arguments: Callable[[int], Arguments]
    by_row: bool = True
    spoilt: bool = True


def check(case: Case, options: swath.Options) -> None:
    """Compile the model of a case and compare it with eager."""
    torch.random.manual_seed(7)  # pyright: ignore[reportUnknownMemberType]
    model = case.make().eval()
    with swath.compile(model, case.arguments(3), options=options) as program:
        for batch in BATCHES:
            compare(model, program, case.arguments(batch), f"batch {batch}")
        if case.by_row:
            rows_are_alone(program, case.arguments(257))
        if case.by_row and case.spoilt:
            for number in (np.nan, np.inf, -np.inf):
                rows_are_spoilt_alone(model, program, case.arguments(257), number)


def compare(model: nn.Module, program: swath.Program, arguments: Arguments, place: str) -> None:
    """The program's results are eager's in shape, type and number."""
    with torch.no_grad():
        wanted = arrays(model(*copy(arguments)))
    got = arrays(program(*arguments))
    assert len(wanted) == len(got)
    for index, (want, have) in enumerate(zip(wanted, got, strict=True)):
        message = f"output {index} at {place}"
        assert (have.shape, have.dtype) == (want.shape, want.dtype), message
        np.testing.assert_allclose(have, want, RELATIVE, ABSOLUTE, err_msg=message)


def rows_are_alone(program: swath.Program, arguments: Arguments) -> None:
    """Rows give the same bits in any company, and however they lie in memory."""
    whole = by_rows(program, arguments)
    for places in PLACES:
        rows = torch.tensor(list(places))
        part = by_rows(program, tuple(x[rows] for x in arguments))
        for all_rows, some in zip(whole, part, strict=True):
            np.testing.assert_array_equal(some, all_rows[rows.numpy()])
    apart = tuple(torch.cat([x, x], x.ndim - 1)[..., : x.shape[-1]] for x in arguments)
    for one, other in zip(whole, by_rows(program, apart), strict=True):
        np.testing.assert_array_equal(one, other)


def rows_are_spoilt_alone(
    model: nn.Module, program: swath.Program, arguments: Arguments, number: float
) -> None:
    """A number that isn't finite does what it does in eager, to its own row."""
    whole = by_rows(program, arguments)
    spoilt = copy(arguments)
    for leaf in spoilt:
        if leaf.is_floating_point():
            leaf[:SPOILT][torch.rand(leaf[:SPOILT].shape) < 0.2] = number
    compare(model, program, spoilt, f"{number} among the inputs")
    for before, after in zip(whole, by_rows(program, spoilt), strict=True):
        np.testing.assert_array_equal(after[SPOILT:], before[SPOILT:])


def copy(arguments: Arguments) -> Arguments:
    """Arguments that a model may write to."""
    return tuple(x.clone() for x in arguments)


def arrays(results: Any) -> list[Array]:
    """The tensors among results."""
    return [x.detach().numpy() for x in pytree.tree_leaves(results) if torch.is_tensor(x)]


def by_rows(program: swath.Program, arguments: Arguments) -> list[Array]:
    """The results that have a row for each row of the batch."""
    specs = zip(program.outputs, arrays(program(*arguments)), strict=True)
    return [x for spec, x in specs if spec.batch_axis == 0 and spec.row_shape[0] == 1]
