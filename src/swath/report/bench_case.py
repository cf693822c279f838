"""What is benched: a model and how its inputs are drawn.

A model is named as everywhere on the command line (see `swath.report.models`). If its factory gives
a `make_inputs(batch, seed)`, that draws the inputs of a call; otherwise the rows of the example
inputs are drawn at random, with replacement.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from swath.errors import Problem, SwathError
from swath.report.arguments import read_arguments
from swath.report.models import NamedModel, load_model

Inputs: TypeAlias = tuple[Any, ...]
MakeInputs: TypeAlias = Callable[[int, int], Inputs]


@dataclass(frozen=True)
class Case:
    """One model to bench.

    `example_inputs` are the positional arguments of `model`; `make_inputs(batch, seed)` draws
    others of the same kind. `shapes` are those of torch.export, if the factory gave some, and
    `exported` the program itself where the case came from a `.pt2` file.
    """

    model: nn.Module
    example_inputs: Inputs
    make_inputs: MakeInputs
    shapes: Any = None
    exported: ExportedProgram | None = None

    def dynamic_shapes(self) -> Any:
        """What torch.export takes: as given, or the leading axis of every tensor left dynamic."""
        if self.shapes is not None:
            return self.shapes
        dynamic = {0: torch.export.Dim.DYNAMIC}
        return tree_map(lambda leaf: dynamic if has_rows(leaf) else None, self.example_inputs)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """`function` on every leaf of nested tuples, lists and dicts."""
    return cast(Any, pytree).tree_map(function, tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts, in order."""
    return list(cast(Any, pytree).tree_leaves(tree))


def tensors_of(tree: Any) -> list[Tensor]:
    """The tensors among the leaves of `tree`, in order."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def has_rows(leaf: Any) -> bool:
    """Whether a leaf is a tensor with a leading axis."""
    return isinstance(leaf, Tensor) and leaf.ndim > 0


def load_case(specification: str) -> Case:
    """The case that `specification` names. Raises what `load_model` raises."""
    return case_of(load_model(specification))


def case_of(named: NamedModel) -> Case:
    """A named model as a case. Raises SwathError SW405 for one that has keyword-only inputs."""
    exported = named.model if isinstance(named.model, ExportedProgram) else None
    model = exported.module() if exported is not None else cast(nn.Module, named.model)
    inputs = positional(model, named.example_inputs)
    make_inputs = rows_of_examples(inputs)
    if named.make_inputs is not None:
        make_inputs = drawn_by(model, named.make_inputs)
    return Case(model, inputs, make_inputs, named.dynamic_shapes, exported)


def drawn_by(model: nn.Module, draw: MakeInputs) -> MakeInputs:
    """The inputs that a factory's function draws, as positional arguments."""
    return lambda batch, seed: positional(model, draw(batch, seed))


def positional(model: nn.Module, given: Any) -> Inputs:
    """Arguments in any form that `swath.compile` takes, as positional ones."""
    arguments = read_arguments(given)
    if not arguments.named:
        return arguments.positional
    signature = inspect.signature(model.forward)
    bound = signature.bind(*arguments.positional, **arguments.named)
    if bound.kwargs:
        raise _unfit(
            f"the inputs {', '.join(bound.kwargs)} go by keyword only",
            "the peers are called with positional arguments",
            "bench a module whose forward takes them by position",
        )
    return bound.args


def _unfit(what: str, why: str, fix: str) -> SwathError:
    return SwathError(Problem("SW405", what, why, fix))


def rows_of_examples(example_inputs: Inputs) -> MakeInputs:
    """Draws rows of `example_inputs` at random; every tensor must have the same leading axis.

    What it gives raises SwathError SW405 for inputs whose leading axes differ, as values and
    offsets do: these need a `make_inputs`.
    """
    sizes = {int(tensor.shape[0]) for tensor in tensors_of(example_inputs) if tensor.ndim}

    def make_inputs(batch: int, seed: int) -> Inputs:
        if len(sizes) != 1:
            raise _unfit(
                f"the example inputs have leading axes of {sorted(sizes)}",
                "rows can't be drawn from them for calls of other batches",
                "let the factory return (model, example_inputs, make_inputs)",
            )
        rows = torch.as_tensor(np.random.default_rng(seed).integers(0, next(iter(sizes)), batch))
        return tree_map(
            lambda leaf: leaf[rows].contiguous() if has_rows(leaf) else leaf, example_inputs
        )

    return make_inputs
