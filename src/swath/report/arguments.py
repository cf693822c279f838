"""The arguments of a model as a flat list of arrays, and back.

A manifest says how inputs and outputs nest. Here its structures are laid over real arguments, so
that rows can be drawn, cut and put together as plain arrays, whatever the model's `forward` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from swath.artifact.manifest import Constant, DictNode, Leaf, Parameter, Tree

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Arguments:
    """Positional and keyword arguments of one call."""

    positional: tuple[Any, ...]
    named: dict[str, Any]


def read_arguments(given: Any) -> Arguments:
    """A tuple or list of arguments, a dict of keyword arguments, or a pair of both."""
    if isinstance(given, Mapping):
        return Arguments((), dict(cast("Mapping[str, Any]", given)))
    if isinstance(given, tuple | list):
        items = tuple(cast("tuple[Any, ...]", given))
        if len(items) == 2 and isinstance(items[0], tuple) and isinstance(items[1], dict):
            return Arguments(cast("tuple[Any, ...]", items[0]), cast("dict[str, Any]", items[1]))
        return Arguments(items, {})
    return Arguments((given,), {})


def leaves_of(structure: Tree, value: Any) -> Iterator[tuple[int, Any]]:
    """(index, leaf) for each array of a nested value, which has this structure."""
    if isinstance(structure, Leaf):
        yield structure.index, value
    elif isinstance(structure, DictNode):
        for key, item in zip(structure.keys, structure.items, strict=True):
            yield from leaves_of(item, _member(value, key))
    elif not isinstance(structure, Constant):
        for item, part in zip(structure.items, value, strict=True):
            yield from leaves_of(item, part)


def _member(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)[key]
    return getattr(value, key)


def flat_inputs(parameters: Sequence[Parameter], arguments: Arguments) -> list[Any]:
    """The leaves of arguments in the order of the manifest's inputs."""
    named = dict(
        zip((parameter.name for parameter in parameters), arguments.positional, strict=False)
    )
    named.update(arguments.named)
    found = {
        index: leaf
        for parameter in parameters
        if parameter.name in named
        for index, leaf in leaves_of(parameter.structure, named[parameter.name])
    }
    return [found[index] for index in sorted(found)]


def flat_outputs(structure: Tree, result: Any) -> list[Array]:
    """The arrays of a result in the order of the manifest's outputs."""
    found = dict(leaves_of(structure, result))
    return [as_array(found[index]) for index in sorted(found)]


def as_array(leaf: Any) -> Array:
    """A tensor or array as an array."""
    return leaf.detach().numpy() if hasattr(leaf, "detach") else np.asarray(leaf)


@dataclass(frozen=True, slots=True)
class _Marker:
    """Stands for a tensor of the example while places are looked up."""

    number: int


class CallForm:
    """How flat arrays become the arguments that a PyTorch model takes."""

    def __init__(self, example: Any, parameters: Sequence[Parameter]) -> None:
        """`example` as `swath.compile` takes it; `parameters` are those of the manifest."""
        from torch import Tensor
        from torch.utils import _pytree as pytree

        self._pytree: Any = pytree
        self._parameters = parameters
        arguments = read_arguments(example)
        leaves, self._spec = pytree.tree_flatten((arguments.positional, arguments.named))
        self._leaves: list[Any] = list(leaves)
        marked = [
            _Marker(number) if isinstance(leaf, Tensor) else leaf
            for number, leaf in enumerate(self._leaves)
        ]
        positional, named = self._pytree.tree_unflatten(marked, self._spec)
        places = flat_inputs(parameters, Arguments(tuple(positional), named))
        self._places = [cast("_Marker", marker).number for marker in places]
        self.example = [as_array(self._leaves[place]) for place in self._places]

    def flatten(self, given: Any) -> list[Array]:
        """The arrays of other arguments of the same form."""
        return [as_array(leaf) for leaf in flat_inputs(self._parameters, read_arguments(given))]

    def arguments(self, arrays: Sequence[Array]) -> Arguments:
        """The arguments as tensors, nested like the example."""
        torch: Any = import_module("torch")
        leaves = list(self._leaves)
        for place, array in zip(self._places, arrays, strict=True):
            leaves[place] = torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
        positional, named = self._pytree.tree_unflatten(leaves, self._spec)
        return Arguments(tuple(positional), named)


def nested(structure: Tree, arrays: Sequence[Array]) -> Any:
    """Arrays in the nesting that a manifest states, for calling a program without its model."""
    if isinstance(structure, Leaf):
        return arrays[structure.index]
    if isinstance(structure, Constant):
        return structure.value
    items = [nested(item, arrays) for item in structure.items]
    if isinstance(structure, DictNode):
        return dict(zip(structure.keys, items, strict=True))
    return tuple(items)


def program_arguments(parameters: Sequence[Parameter], arrays: Sequence[Array]) -> Arguments:
    """The arguments of a program as NumPy arrays."""
    values = [(parameter, nested(parameter.structure, arrays)) for parameter in parameters]
    return Arguments(
        tuple(value for parameter, value in values if not parameter.keyword_only),
        {parameter.name: value for parameter, value in values if parameter.keyword_only},
    )
