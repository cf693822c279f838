"""Lets torch.export trace models whose form alone it minds: `forward(**kwargs)`, results that are
data classes it doesn't know, and `.data`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from swath.frontends.examples import Example

UNKNOWN_RESULT = "in output, which is not a known type"
"""What torch.export says of a result that is a class it doesn't know."""


@contextmanager
def adapted(model: nn.Module, example: Example, *, plain_results: bool = False) -> Generator[None]:
    """The model with a `forward` that names each keyword argument of the example, and (with
    `plain_results`) gives data classes back as dicts."""
    signature = explicit_signature(model.forward, example)
    if signature is None and not plain_results:
        yield
        return
    with _replaced_forward(model, _adapter(model.forward, signature, plain_results)):
        yield


@contextmanager
def _replaced_forward(model: nn.Module, forward: Callable[..., Any]) -> Generator[None]:
    before = model.__dict__.get("forward")
    model.__dict__["forward"] = forward
    try:
        yield
    finally:
        if before is None:
            del model.__dict__["forward"]
        else:
            model.__dict__["forward"] = before


def _adapter(
    forward: Callable[..., Any], signature: inspect.Signature | None, plain_results: bool
) -> Callable[..., Any]:
    @functools.wraps(forward)
    def adapter(*args: Any, **kwargs: Any) -> Any:
        result = forward(*args, **kwargs)
        return plain(result) if plain_results else result

    described: Any = adapter
    described.__signature__ = signature or inspect.signature(forward)
    return adapter


def explicit_signature(forward: Callable[..., Any], example: Example) -> inspect.Signature | None:
    """The signature with a parameter for each keyword that `**kwargs` takes in the example; None if
    there is no `**kwargs` in it."""
    signature = inspect.signature(forward)
    known = list(signature.parameters.values())
    if not known or known[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return None
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        for name in example.kwargs
        if name not in signature.parameters
    ]
    return signature.replace(parameters=[*known[:-1], *extra])


def plain(result: Any) -> Any:
    """The result with data classes that torch doesn't know as dicts."""
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        if type(result) in pytree.SUPPORTED_NODES:
            return result
        fields = dataclasses.fields(result)
        return {field.name: plain(getattr(result, field.name)) for field in fields}
    if type(result) in (list, tuple):
        items = [plain(item) for item in cast("list[Any]", result)]
        return items if isinstance(result, list) else tuple(items)
    if type(result) is dict:
        return {key: plain(item) for key, item in cast("dict[Any, Any]", result).items()}
    return result


class DataAsDetach(TorchFunctionMode):
    """Reads `x.data` as `x.detach()`: the same values, which tracing would otherwise lose."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        if func == _READ_DATA:
            return args[0].detach()
        return func(*args, **(kwargs or {}))


_TENSOR: Any = torch.Tensor
_READ_DATA = _TENSOR.data.__get__
