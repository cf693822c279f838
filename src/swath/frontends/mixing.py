"""Finds operations along the batch axis in an eager run, by the size of the batch.

Where a model can be traced, debatching finds them exactly (see rows/); this is for models that
can't. The run has a batch that hardly any other axis has the size of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch

from swath.frontends.examples import TRACED_BATCH
from swath.frontends.liveness import op_key
from swath.frontends.pinned import pinned
from swath.frontends.sizes import data_dependent_size
from swath.frontends.unsupported import Unsupported

_ALONG = frozenset((
    "sum", "mean", "_softmax", "_log_softmax", "cumsum", "cumprod", "sort", "topk", "max", "min",
    "amax", "amin", "argmax", "argmin", "var", "std", "var_mean", "std_mean", "prod", "logsumexp",
    "roll", "flip", "linalg_vector_norm", "argsort", "median", "kthvalue", "any", "all",
))  # fmt: skip
_PRODUCTS = frozenset(("mm", "bmm", "addmm"))


def refusal_of_rows(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Unsupported | None:
    """Why an operation has no row form, if it works along the axis that has the batch's size."""
    key = op_key(func)
    name = key.split(".")[1] if key.startswith("aten.") else key
    if name in _ALONG and _axes_of_batch(func, args, kwargs):
        return _mixes(f"the model combines the rows of the batch (`{key}` along the batch axis)")
    if name in _PRODUCTS and _multiplies_rows(name, args):
        return _mixes(f"the model multiplies rows with rows (`{key}`)")
    if name == "unbind" and _axes_of_batch(func, args, kwargs):
        return pinned("a loop over the rows")
    if name == "index" and _masks_rows(args):
        return data_dependent_size()
    return None


def _mixes(what: str) -> Unsupported:
    return Unsupported(
        "SW030",
        what,
        "the result of a row must not depend on the other rows of the call, nor on their number",
        "keep the batch axis out of this step, or do it outside of the model",
    )


def _axes_of_batch(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """True if an axis that the operation names has the size of the batch."""
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    axes = given.get("dim", given.get("dims", 0 if func._schema.name == "aten::unbind" else None))
    tensor = args[0] if args else None
    if not isinstance(tensor, torch.Tensor) or axes is None or tensor.dim() == 0:
        return False
    listed = cast("list[int]", axes if isinstance(axes, list | tuple) else [axes])
    return any(tensor.shape[axis] == TRACED_BATCH for axis in listed)


def _multiplies_rows(name: str, args: Sequence[Any]) -> bool:
    left, right = args[-2:]
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        return False
    inner = left.shape[-1] == TRACED_BATCH
    outer = left.shape[-2] == TRACED_BATCH == right.shape[-1]
    return (inner or outer) and not (name == "bmm" and left.shape[0] == TRACED_BATCH)


def _masks_rows(args: Sequence[Any]) -> bool:
    indices = cast("list[Any]", args[1]) if len(args) > 1 else []
    return any(
        isinstance(index, torch.Tensor)
        and index.dtype is torch.bool
        and TRACED_BATCH in index.shape
        for index in indices
    )
