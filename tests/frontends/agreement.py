"""Compares an imported model with eager PyTorch: structure, types and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from swath.frontends.importer import Imported
from swath.frontends.torch_export import import_program
from swath.graph.interpreter import interpret
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph, same_graph
from swath.graph.verifier import verify

Make = Callable[[int], tuple[Any, ...]]
One = dict[str, Callable[[Any], Any]]
Two = dict[str, Callable[[Any, Any], Any]]


def seed(number: int) -> None:
    """Make torch's random numbers those of `number`."""
    torch.random.manual_seed(number)  # pyright: ignore[reportUnknownMemberType]


class Cases(nn.Module):
    """A model of many small computations, so that one export serves a whole family of ops."""

    def __init__(
        self, cases: Mapping[str, Callable[[Any], Any]] | Mapping[str, Callable[[Any, Any], Any]]
    ) -> None:
        super().__init__()
        self.cases: dict[str, Callable[..., Any]] = dict(cases)

    def forward(self, *inputs: torch.Tensor) -> dict[str, Any]:
        return {name: case(*inputs) for name, case in self.cases.items()}


def agree(
    model: nn.Module,
    make: Make,
    *,
    example_batch: int = 3,
    batches: Sequence[int] = (1, 7),
    tolerance: float = 2e-6,
    **options: Any,
) -> Imported:
    """Import the model and compare it with eager; `make(batch)` gives its arguments."""
    seed(0)
    model.eval()
    imported = import_program(model, make(example_batch), **options)
    verify(imported.graph, "import")
    graph = imported.graph
    assert same_graph(parse_graph(print_graph(graph), graph.constants), graph)
    for batch in batches:
        arguments = make(batch)
        with torch.no_grad():
            expected = model(*arguments)
        compare(imported, arguments, expected, batch, tolerance)
    return imported


def compare(
    imported: Imported, arguments: Any, expected: Any, batch: int, tolerance: float = 2e-6
) -> None:
    """Run the graph on the arguments and compare with what eager gave."""
    given = [leaf.numpy() for leaf in pytree.tree_leaves(arguments) if torch.is_tensor(leaf)]
    # The graph has its inputs in the order of the leaves, custom containers included.
    results = interpret(imported.graph, given, batch)
    leaves = [leaf for leaf in pytree.tree_leaves(expected) if torch.is_tensor(leaf)]
    assert len(results) == len(leaves) == len(imported.signature.outputs)
    for leaf, result, described in zip(leaves, results, imported.signature.outputs, strict=True):
        reference = leaf.detach().numpy()
        place = f"{described.name} at batch {batch}"
        assert result.shape == reference.shape, place
        assert result.dtype == reference.dtype, place
        np.testing.assert_allclose(result, reference, rtol=tolerance, atol=tolerance, err_msg=place)
