"""References in float64 and the error bound of each elementary function, in ulp of float32.

They held at every 11th float32: `python -m tests.kernels.exhaustive 11` looks at these again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.kernels.built import Floats

Doubles = npt.NDArray[np.float64]
SMALLEST_NORMAL = 2.0**-126


@dataclass(frozen=True, slots=True)
class Function:
    """`ulp` bounds the error where the result is normal and the argument is `lowest` or more."""

    reference: Callable[[Doubles], Doubles]
    ulp: float
    lowest: float = -math.inf


def _sigmoid(x: Doubles) -> Doubles:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1 + e)


def _softplus(x: Doubles) -> Doubles:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _tanh_gate(x: Doubles) -> Doubles:
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def _erf(x: Doubles) -> Doubles:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _gelu(x: Doubles) -> Doubles:
    return x * 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x / math.sqrt(2))


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, 1.1),
    "expm1": Function(np.expm1, 1.5),
    "log": Function(np.log, 0.9),
    "log1p": Function(np.log1p, 1.6),
    "log2": Function(np.log2, 1.5),
    "sin": Function(np.sin, 1.6),
    "cos": Function(np.cos, 1.6),
    "sigmoid": Function(_sigmoid, 2.0),
    "tanh": Function(np.tanh, 2.0),
    "softplus": Function(_softplus, 2.0),
    "silu": Function(lambda x: x * _sigmoid(x), 3.3, -87.0),
    "erf": Function(_erf, 2.0),
    "gelu": Function(_gelu, 5.0, -13.0),
    "gelu_tanh": Function(_tanh_gate, 3.3, -10.0),
    "rsqrt": Function(lambda x: 1 / np.sqrt(x), 1.5),
}
POWER_ULP = 0.6


@np.errstate(all="ignore")
def errors(result: Floats, exact: Doubles) -> Doubles:
    """Errors in ulp; 0 where both are the same infinity or NaN, infinity where only one is."""
    rounded = exact.astype(np.float32)
    size = np.minimum(np.abs(rounded), np.finfo(np.float32).max)
    error = np.abs(result - exact) / np.spacing(size).astype(np.float64)
    same = (result == rounded) | (np.isnan(result) & np.isnan(exact))
    special = ~np.isfinite(result) | ~np.isfinite(rounded)
    # Around the largest float32 both the number and infinity may be within the bound.
    edge = np.isinf(result) & (np.abs(exact) > 3.4028234e38) & (np.sign(result) == np.sign(exact))
    edge |= np.isinf(rounded) & (np.abs(result) > 3.402823e38) & (np.abs(exact) < 3.4028239e38)
    return np.where(same | edge, np.where(special, 0, error), np.where(special, np.inf, error))
