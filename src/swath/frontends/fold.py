"""Computes at import what depends on no input and has no rule: sparse products, factorisations,
whatever a model derives from its weights alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch

from swath.frontends import aliases
from swath.frontends.aliases import Tensor
from swath.frontends.context import Context
from swath.frontends.refusals import refused_by_name
from swath.frontends.weights import array_of
from swath.graph.ir import Value


class Opaque:
    """A stored tensor that the graph can't hold (a sparse one), for folding alone."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def folded(
    context: Context, target: Any, key: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """The result of an op on constants as tensors of the program; None if it depends on an input,
    or is one that must not be computed once (random numbers, Python numbers)."""
    if refused_by_name(key) is not None:
        return None
    values = [_constant(context, argument) for argument in arguments]
    named = {name: _constant(context, argument) for name, argument in keywords.items()}
    if any_of(_Unknown, values) or any_of(_Unknown, list(named.values())):
        return None
    with torch.no_grad():
        return _tensors(context, target(*values, **named))


class _Unknown:
    """Stands for what depends on an input."""


def any_of(kind: type, values: Sequence[Any]) -> bool:
    """True if a value of the kind is among the arguments, lists included."""
    return any(
        isinstance(value, kind) or (isinstance(value, list) and any_of(kind, cast("Any", value)))
        for value in values
    )


def _constant(context: Context, argument: Any) -> Any:
    if isinstance(argument, Opaque):
        return argument.tensor
    if isinstance(argument, Tensor):
        array = context.known(aliases.read(context, argument))
        # A copy: an op may write to what it is given, and memory of the model is shared.
        return _Unknown() if array is None else torch.tensor(np.asarray(array))
    if isinstance(argument, list):
        return [_constant(context, item) for item in cast("list[Any]", argument)]
    if argument is None or isinstance(
        argument,
        bool | int | float | str | torch.dtype | torch.device | torch.layout | torch.memory_format,
    ):
        return argument
    return _Unknown()


def _tensors(context: Context, result: Any) -> Any:
    if isinstance(result, list | tuple):
        return [_tensors(context, item) for item in cast("Sequence[Any]", result)]
    if not isinstance(result, torch.Tensor):
        return result
    if result.layout is not torch.strided:
        return Opaque(result)
    return aliases.fresh(_value(context, result))


def _value(context: Context, tensor: torch.Tensor) -> Value:
    return context.constant(context.name, array_of(tensor))
