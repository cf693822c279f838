"""Calls neither lose nor keep references."""

from __future__ import annotations

import gc
import resource
import sys
from typing import Any

import numpy as np
import pytest
import torch

from swath.errors import SwathError
from swath.runtime import Program


def test_inputs_and_outputs_have_as_many_references_as_before(nested: Program) -> None:
    a, d = np.ones(3, np.float32), np.ones(1, np.float32)
    t = torch.ones(3)
    features = {"c": a, "d": d}
    pairs: list[Any] = [(a, a), (a, [a[:2]]), (a, [1])]
    pair: Any = pairs[-1]
    watched: list[Any] = [a, d, t, features, None, True, 2.0]
    gc.collect()  # what other tests left behind holds constants too, and goes at some time or other
    before = [sys.getrefcount(value) for value in watched]
    for _ in range(200):
        result = nested((a, [a]), features)
        references = sys.getrefcount(result["sum"])
        assert references == 2  # the dict and the argument
        nested(pair=(a, [t]), features=features, scale=2.0)
        for pair in pairs:
            with pytest.raises(SwathError):
                nested(pair, features)
        with pytest.raises(SwathError):
            nested((a, [a]), features, scale=3.0)
        with pytest.raises(SwathError):
            nested((a, [a]), wrong=features)
        del result
    after = [sys.getrefcount(value) for value in watched]
    # Constants are shared by the whole interpreter: they may move a little, not by a call each.
    assert all(abs(x - y) < 100 for x, y in zip(before, after, strict=True))
    assert before[:4] == after[:4]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("make", [np.ones, torch.ones], ids=["numpy", "torch"])
def test_outputs_are_freed(scale: Program, make: Any) -> None:
    x = make((4096, 4), dtype=np.float32 if make is np.ones else torch.float32)
    scale(x)
    before = peak_megabytes()
    for _ in range(4000):  # 64 MB of outputs
        scale(x)
    assert peak_megabytes() - before < 16
