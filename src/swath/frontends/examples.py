"""Example inputs: their forms, and the shapes that they stand for."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from swath.frontends.unsupported import Unsupported
from swath.options import Input

# Batch of the example that is traced, whatever the batch of the given one: a number that model code
# is unlikely to compare sizes with or to have as another size.
TRACED_BATCH = 37
# Lengths for leading axes that aren't the batch; all different.
_TRACED_OTHERS = (41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


@dataclass(frozen=True, slots=True)
class Example:
    """Positional and keyword arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def bound(self, forward: Callable[..., Any]) -> dict[str, Any]:
        """The arguments by parameter name. Raises Unsupported if they don't fit."""
        try:
            return dict(inspect.signature(forward).bind(*self.args, **self.kwargs).arguments)
        except TypeError as error:
            names = ", ".join(inspect.signature(forward).parameters)
            raise Unsupported(
                "SW002",
                f"the example inputs don't fit forward({names}): {error}",
                "the example is what the model is traced with",
                "give a tuple of arguments, a dict of keyword arguments, or a pair of both",
            ) from None


def read_example(example: Any) -> Example:
    """A tuple or list of arguments, a dict of keyword arguments, or a pair (args, kwargs); NumPy
    arrays count as tensors."""
    example = _each_its_own(pytree.tree_map_only(np.ndarray, torch.as_tensor, example))
    if isinstance(example, Mapping):
        return Example((), dict(cast("Mapping[str, Any]", example)))
    if isinstance(example, torch.Tensor):
        return Example((example,), {})
    if isinstance(example, tuple | list):
        items = tuple(cast("tuple[Any, ...]", example))
        if len(items) == 2 and isinstance(items[0], tuple) and isinstance(items[1], dict):
            return Example(cast("tuple[Any, ...]", items[0]), cast("dict[str, Any]", items[1]))
        return Example(items, {})
    raise Unsupported(
        "SW002",
        "there are no example inputs"
        if example is None
        else f"the example inputs are of type {type(example).__name__}",
        "the example is what the model is traced with",
        "give a tuple of arguments, a dict of keyword arguments, or a pair of both",
    )


def _each_its_own(example: Any) -> Any:
    """The example with a tensor of its own in each place: torch.export takes one that stands in
    two places for one input."""
    seen: set[int] = set()

    def own(leaf: torch.Tensor) -> torch.Tensor:
        if id(leaf) in seen:
            return leaf.detach().clone()
        seen.add(id(leaf))
        return leaf

    return pytree.tree_map_only(torch.Tensor, own, example)


def default_shapes(
    example: Example,
    forward: Callable[..., Any],
    declared: Mapping[str, Input],
    *,
    one_batch: bool = True,
) -> tuple[Example, dict[str, Any]]:
    """An example with a batch that is good to trace, and dynamic shapes: the leading axis of
    every tensor is free. They are one size if they agree in the example (and `one_batch` is set).
    """
    arguments = example.bound(forward)
    leaves = dict(named_leaves(arguments))
    ragged = {name for name, declaration in declared.items() if declaration.ragged is not None}
    offsets = {declaration.ragged for declaration in declared.values()}
    sizes = {
        name: leaf.shape[0] for name, leaf in leaves.items() if leaf.dim() and name not in ragged
    }
    wide = {name for name, leaf in leaves.items() if leaf.dim() > 1 or leaf.is_floating_point()}
    batch = _batch_of(
        {name: size for name, size in sizes.items() if name not in offsets} or sizes, wide
    )
    same = one_batch and not ragged and all(size == batch for size in sizes.values())
    shared = Dim("batch") if same else Dim.DYNAMIC
    others = iter(_TRACED_OTHERS * (1 + len(leaves) // len(_TRACED_OTHERS)))
    lengths: dict[str, int] = {}
    for name, leaf in leaves.items():
        if not leaf.dim():
            continue
        if sizes.get(name) == batch:
            lengths[name] = TRACED_BATCH
        elif sizes.get(name) == batch + 1:
            lengths[name] = TRACED_BATCH + 1
        else:
            lengths[name] = next(others)
    resized = {
        id(leaf): resized_rows(leaf, 0, lengths[name])
        for name, leaf in leaves.items()
        if name in lengths
    }
    shapes = {
        name: _map_leaves(value, name, lambda leaf, _: {0: shared} if leaf.dim() else None)
        for name, value in arguments.items()
    }
    return _replace(example, resized), shapes


def requested_axes(
    example: Example, forward: Callable[..., Any], shapes: Any
) -> dict[str, tuple[int, ...]]:
    """The axes of each tensor that dynamic shapes of torch.export leave free, by input name."""
    arguments = example.bound(forward)
    if isinstance(shapes, list | tuple):
        positional = cast("tuple[Any, ...]", shapes)
        shapes = dict(zip(arguments, positional, strict=False))
    axes: dict[str, tuple[int, ...]] = {}
    for name, value in arguments.items():
        spec = cast("Mapping[str, Any]", shapes or {}).get(name)
        for path, leaf_spec in _leaf_specs(value, spec, name):
            axes[path] = _free_axes(leaf_spec)
    return axes


def _leaf_specs(value: Any, spec: Any, path: str) -> list[tuple[str, Any]]:
    """The part of a nested specification that is for each tensor of a nested value."""
    if isinstance(value, torch.Tensor):
        return [(path, spec)]
    children: list[tuple[Any, Any, str]] = []
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        specs = cast("Mapping[Any, Any]", spec if isinstance(spec, Mapping) else {})
        children = [(item, specs.get(key), f"{path}.{key}") for key, item in items.items()]
    elif isinstance(value, list | tuple):
        sequence = cast("tuple[Any, ...]", value)
        parts = cast("tuple[Any, ...]", spec if isinstance(spec, list | tuple) else ())
        names = getattr(sequence, "_fields", None)
        children = [
            (
                item,
                parts[i] if i < len(parts) else None,
                f"{path}.{names[i]}" if names else f"{path}[{i}]",
            )
            for i, item in enumerate(sequence)
        ]
    return [found for child in children for found in _leaf_specs(*child)]


def _free_axes(spec: Any) -> tuple[int, ...]:
    if isinstance(spec, Mapping):
        items = cast("Mapping[int, Any]", spec)
        return tuple(axis for axis, size in items.items() if _is_free(size))
    if isinstance(spec, list | tuple):
        return tuple(i for i, size in enumerate(cast("tuple[Any, ...]", spec)) if _is_free(size))
    return ()


def _is_free(size: Any) -> bool:
    return not (size is None or isinstance(size, int) or size is Dim.STATIC)


def without_small_batch(example: Example, forward: Callable[..., Any], shapes: Any) -> Example:
    """The example with more rows, if its free axes have a size of 0 or 1, which tracing would take
    as fixed."""
    leaves, axes = _free_leaves(example, forward, shapes)
    sizes = [leaf.shape[axis] for name, leaf in leaves for axis in axes.get(name, ())]
    if not sizes or min(sizes) > 1:
        return example
    return _grown(example, forward, shapes, min(sizes))


def with_traced_batch(example: Example, forward: Callable[..., Any], shapes: Any) -> Example | None:
    """The example with `TRACED_BATCH` rows; None if its free axes have several sizes."""
    leaves, axes = _free_leaves(example, forward, shapes)
    sizes = {leaf.shape[axis] for name, leaf in leaves for axis in axes.get(name, ())}
    return _grown(example, forward, shapes, sizes.pop()) if len(sizes) == 1 else None


def _free_leaves(
    example: Example, forward: Callable[..., Any], shapes: Any
) -> tuple[list[tuple[str, torch.Tensor]], dict[str, tuple[int, ...]]]:
    return named_leaves(example.bound(forward)), requested_axes(example, forward, shapes)


def _grown(example: Example, forward: Callable[..., Any], shapes: Any, batch: int) -> Example:
    """The example with other sizes on its free axes: for `batch` and `batch + 1` rows those of the
    batch that is good to trace."""
    leaves, axes = _free_leaves(example, forward, shapes)
    grown = {batch: TRACED_BATCH, batch + 1: TRACED_BATCH + 1}
    resized: dict[int, torch.Tensor] = {}
    for name, leaf in leaves:
        tensor = leaf
        for axis in axes.get(name, ()):
            tensor = resized_rows(tensor, axis, grown.get(leaf.shape[axis], leaf.shape[axis]))
        resized[id(leaf)] = tensor
    return _replace(example, resized)


def _batch_of(sizes: Mapping[str, int], wide: Set[str]) -> int:
    """The leading size that most inputs have, offsets with one more for the end of the last bag
    included; of equals that of most `wide` inputs (a list of integers may be a flat one of the
    values of all bags), then the first one."""
    every = Counter(sizes.values())
    of_wide = Counter(size for name, size in sizes.items() if name in wide)
    return max(every, key=lambda size: (every[size] + every[size + 1], of_wide[size]), default=0)


def named_leaves(arguments: Mapping[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """The tensors among the arguments by parameter name and path."""
    found: list[tuple[str, torch.Tensor]] = []

    def note(leaf: torch.Tensor, name: str) -> None:
        found.append((name, leaf))

    for name, value in arguments.items():
        _map_leaves(value, name, note)
    return found


def _map_leaves(value: Any, path: str, function: Callable[[torch.Tensor, str], Any]) -> Any:
    """The same nesting with each tensor replaced by `function(tensor, path)`, all else by None."""
    if isinstance(value, torch.Tensor):
        return function(value, path)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return {key: _map_leaves(item, f"{path}.{key}", function) for key, item in items.items()}
    if isinstance(value, list | tuple):
        sequence = cast("tuple[Any, ...]", value)
        fields = getattr(sequence, "_fields", None)
        mapped = [
            _map_leaves(item, f"{path}.{fields[i]}" if fields else f"{path}[{i}]", function)
            for i, item in enumerate(sequence)
        ]
        if fields:
            return cast("Any", type(sequence))(*mapped)
        return mapped if isinstance(value, list) else tuple(mapped)
    leaves: list[Any] = pytree.tree_leaves(value)
    if len(leaves) == 1 and leaves[0] is value:
        return None
    return [_map_leaves(leaf, f"{path}[{i}]", function) for i, leaf in enumerate(leaves)]


def resized_rows(tensor: torch.Tensor, axis: int, length: int) -> torch.Tensor:
    """The tensor with `length` positions along an axis: the given ones over and over."""
    size = tensor.shape[axis]
    if size == length:
        return tensor
    if size == 0:
        shape = [*tensor.shape[:axis], length, *tensor.shape[axis + 1 :]]
        return torch.zeros(shape, dtype=tensor.dtype)
    index = torch.arange(length) % size
    return tensor.detach().index_select(axis, index)


def _replace(example: Example, tensors: Mapping[int, torch.Tensor]) -> Example:
    """The example with its tensors replaced, by identity."""
    leaves, spec = pytree.tree_flatten((example.args, example.kwargs))
    args, kwargs = pytree.tree_unflatten([tensors.get(id(leaf), leaf) for leaf in leaves], spec)
    return Example(tuple(args), dict(kwargs))
