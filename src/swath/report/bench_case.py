"""What is benched: a model, how it is named on the command line, and how its inputs are drawn.

A factory returns `(model, example_inputs)`. It may return a third value, `make_inputs(batch,
seed)`, which gives the inputs of a call of that many rows. Without it the rows of the example
inputs are drawn at random, with replacement.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

Inputs: TypeAlias = tuple[Any, ...]
MakeInputs: TypeAlias = Callable[[int, int], Inputs]


class CaseError(Exception):
    """A model that can't be loaded or whose inputs can't be drawn; it says what to change."""


@dataclass(frozen=True)
class Case:
    """One model to bench.

    `example_inputs` are the positional arguments of `model`; `make_inputs(batch, seed)` draws
    others of the same kind. `exported` is the program itself where the case came from a `.pt2`
    file.
    """

    model: nn.Module
    example_inputs: Inputs
    make_inputs: MakeInputs
    exported: ExportedProgram | None = None

    def dynamic_shapes(self) -> Any:
        """The leading axis of every tensor left dynamic, in the form that torch.export takes."""
        return tree_map(
            lambda leaf: (
                {0: torch.export.Dim.DYNAMIC} if isinstance(leaf, Tensor) and leaf.ndim else None
            ),
            self.example_inputs,
        )


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """`function` on every leaf of nested tuples, lists and dicts."""
    return cast(Any, pytree).tree_map(function, tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts, in order."""
    return list(cast(Any, pytree).tree_leaves(tree))


def tensors_of(tree: Any) -> list[Tensor]:
    """The tensors among the leaves of `tree`, in order."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def load_case(specification: str) -> Case:
    """The case that `specification` names.

    `package.module:factory`, `file.py:factory` (the factory may sit in a mapping:
    `module:MODELS.name`), or a `.pt2` file saved by torch.export.
    Raises CaseError when there is no such thing.
    """
    if specification.endswith(".pt2"):
        return _load_exported(Path(specification))
    place, separator, name = specification.rpartition(":")
    if not separator:
        raise CaseError(
            f"`{specification}` names no factory: "
            "write `package.module:factory` or `file.py:factory`"
        )
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    return _case_of(_attribute(module, name, specification)(), specification)


def _load_module(name: str) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise CaseError(f"no module `{error.name}` (looked in the current folder too)") from error


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise CaseError(f"no file {path}")
    name = f"swath_case_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise CaseError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    # Registered before it runs: dataclasses and torch.export look modules up by name.
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    specification.loader.exec_module(module)
    return module


def _attribute(module: Any, name: str, specification: str) -> Any:
    found = module
    for part in name.split("."):
        if isinstance(found, Mapping):
            entries = cast(Mapping[str, Any], found)
            if part not in entries:
                raise CaseError(
                    f"`{specification}`: no entry `{part}`; there are {', '.join(entries)}"
                )
            found = entries[part]
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            raise CaseError(f"`{specification}`: no `{part}` there")
    return found


def _case_of(made: Any, specification: str) -> Case:
    if not isinstance(made, tuple) or len(cast(tuple[Any, ...], made)) not in (2, 3):
        raise CaseError(
            f"`{specification}` must return (model, example_inputs) or "
            "(model, example_inputs, make_inputs)"
        )
    model, example_inputs, *rest = cast(tuple[Any, ...], made)
    if not isinstance(model, nn.Module):
        raise CaseError(
            f"`{specification}` returned a {type(model).__name__}, not a torch.nn.Module"
        )
    inputs = cast(
        Inputs, example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    )
    return Case(model.eval(), inputs, rest[0] if rest else rows_of_examples(inputs))


def rows_of_examples(example_inputs: Inputs) -> MakeInputs:
    """Draws rows of `example_inputs` at random; every tensor must have the same leading axis.

    Raises CaseError for inputs whose leading axes differ (values with offsets): these need a
    `make_inputs`.
    """
    tensors = [tensor for tensor in tensors_of(example_inputs) if tensor.ndim]
    sizes = {int(tensor.shape[0]) for tensor in tensors}

    def make_inputs(batch: int, seed: int) -> Inputs:
        if len(sizes) != 1:
            raise CaseError(
                f"the inputs have leading axes of {sorted(sizes)}: rows can't be drawn from them; "
                "let the factory return (model, example_inputs, make_inputs)"
            )
        rows = torch.as_tensor(np.random.default_rng(seed).integers(0, next(iter(sizes)), batch))
        return tree_map(
            lambda leaf: (
                leaf[rows].contiguous() if isinstance(leaf, Tensor) and leaf.ndim else leaf
            ),
            example_inputs,
        )

    return make_inputs


def _load_exported(path: Path) -> Case:
    if not path.is_file():
        raise CaseError(f"no file {path}")
    program = torch.export.load(path)
    if program.example_inputs is None:
        raise CaseError(
            f"{path} holds no example inputs: export it anew with the inputs that it is called with"
        )
    positional, named = cast(tuple[Inputs, Mapping[str, Any]], program.example_inputs)
    if named:
        raise CaseError(
            f"{path} was exported with inputs by name ({', '.join(named)}): "
            "name its factory instead"
        )
    return Case(program.module(), positional, rows_of_examples(positional), program)
