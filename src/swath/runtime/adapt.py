"""Seeing other array objects as NumPy arrays, without copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from numpy.typing import NDArray


def adapt(value: object) -> NDArray[Any] | None:
    """The memory of an array object as a plain ndarray, or None where the object is no array.

    Takes subclasses of ndarray that mean the same as their memory (not masked arrays) and whatever
    speaks DLPack on the CPU. Lists, numbers and data frames are refused: converting them would hide
    a copy of every call and guess a dtype.
    """
    import numpy as np  # not before it is needed: loading an artefact is faster than this import

    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        return None if isinstance(value, np.ma.MaskedArray) else np.asarray(array)
    if not hasattr(value, "__dlpack__") or isinstance(value, np.generic):
        return None
    try:
        return np.from_dlpack(cast(Any, value))
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None  # on another device, of a dtype that NumPy lacks, or without memory
