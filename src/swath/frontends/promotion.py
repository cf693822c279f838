"""PyTorch's type promotion: which element type an operation on mixed operands computes in."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Value
from swath.graph.types import DType

Scalar = bool | int | float
Operand = Value | Scalar

_TORCH_TYPES = {
    torch.float64: DType.FLOAT64,
    torch.float32: DType.FLOAT32,
    torch.int64: DType.INT64,
    torch.int32: DType.INT32,
    torch.int16: DType.INT16,
    torch.int8: DType.INT8,
    torch.uint8: DType.UINT8,
    torch.bool: DType.BOOL,
    # Halves only stand where elements are moved, never where they are computed with (see
    # importer.py), so that the wider type holds the same numbers.
    torch.float16: DType.FLOAT32,
    torch.bfloat16: DType.FLOAT32,
}
HALF_TYPES = (torch.float16, torch.bfloat16)
_INTEGERS = (DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64)


def graph_dtype(dtype: torch.dtype) -> DType:
    """The element type of the graph for one of torch. Raises Unsupported."""
    found = _TORCH_TYPES.get(dtype)
    if found is None:
        raise Unsupported(
            "SW014",
            f"a tensor has the element type {str(dtype).removeprefix('torch.')}",
            "values are float32, float64, integers or bool",
            "compute with float32 and integers; write complex numbers as pairs of real ones",
        )
    return found


def _rank(dtype: DType) -> int:
    """bool 0, integer 1, float 2: a higher category always wins."""
    return 2 if dtype.is_float else 1 if dtype.is_integer else 0


def _join(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if _rank(a) != _rank(b):
        return a if _rank(a) > _rank(b) else b
    if a.is_float:
        return DType.FLOAT64
    if DType.UINT8 in (a, b):
        other = b if a is DType.UINT8 else a
        return DType.INT16 if other is DType.INT8 else other
    return _INTEGERS[max(_INTEGERS.index(a), _INTEGERS.index(b))]


def _scalar_dtype(value: Scalar, floats: DType) -> DType:
    if isinstance(value, bool):
        return DType.BOOL
    return DType.INT64 if isinstance(value, int) else floats


def promote(operands: Iterable[Operand], default_float: DType = DType.FLOAT32) -> DType:
    """The common element type: tensors with axes first, then 0-d tensors, then Python numbers;
    a later group counts only if it is of a higher category (bool < integer < float)."""
    groups: tuple[list[DType], list[DType], list[DType]] = ([], [], [])
    for operand in operands:
        if isinstance(operand, Value):
            groups[0 if operand.type.rank else 1].append(operand.type.dtype)
        else:
            groups[2].append(_scalar_dtype(operand, default_float))
    result: DType | None = None
    for group in groups:
        if not group:
            continue
        joined = group[0]
        for dtype in group[1:]:
            joined = _join(joined, dtype)
        if result is None or _rank(joined) > _rank(result):
            result = joined
    assert result is not None
    return result
