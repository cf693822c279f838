"""The work of each pass grows in proportion to the graph: counted in calls, not in time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import Binary, Cast, Concat, Embedding, Linear, Reshape, Slice, Unary
from swath.graph.types import DType, Space, TensorType
from swath.passes.pipeline import PIPELINE

WIDTH = 4


class Models:
    """Graphs of a size, as models make them."""

    def __init__(self) -> None:
        self.builder = GraphBuilder(row_form=True)
        self.add = self.builder.add

    def input(self, *shape: int) -> Value:
        return self.builder.input("x", TensorType(DType.FLOAT32, shape, Space.CANDIDATE))

    def constant(self, *shape: int) -> Value:
        array = np.ones(shape, np.float32)
        return self.builder.constant("c", array, TensorType(DType.FLOAT32, shape, Space.ONCE))

    def columns(self, count: int) -> Graph:
        """Sliced out, looked up, joined, sliced again, joined again."""
        x = self.input(1, count)
        parts: list[Value] = []
        for i in range(count):
            ids = self.add(Cast(DType.INT64), self.add(Slice(1, i, i + 1), x))
            parts.append(self.add(Embedding(), self.constant(3, WIDTH), ids))
        joined = self.add(Reshape((1, count * WIDTH)), self.add(Concat(1), *parts))
        again = [self.add(Slice(1, i * WIDTH, (i + 1) * WIDTH), joined) for i in range(count)]
        return self.builder.build([self.add(Concat(1), *again)])

    def chain(self, count: int) -> Graph:
        """Each step reads the one before: views, casts, sums, products."""
        x = self.input(1, WIDTH)
        for _ in range(count // 4):
            x = self.add(Reshape((WIDTH, 1)), x)
            x = self.add(Reshape((1, WIDTH)), self.add(Unary("tanh"), x))
            x = self.add(Linear(), x, self.constant(WIDTH, WIDTH))
            x = self.add(Binary("add"), x, self.constant(WIDTH))
        return self.builder.build([x])

    def dense(self, count: int) -> Graph:
        """Every layer reads all layers before it."""
        x = self.input(1, WIDTH)
        for _ in range(count // 3):
            last = self.add(Slice(1, x.type.static_shape[1] - WIDTH, x.type.static_shape[1]), x)
            x = self.add(Concat(1), x, self.add(Unary("tanh"), last))
        return self.builder.build([x])


SHAPES: tuple[Callable[[int], Graph], ...] = (
    lambda count: Models().columns(count),
    lambda count: Models().chain(count),
    lambda count: Models().dense(count),
)


PASSES = tuple(dict.fromkeys(PIPELINE))


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=["columns", "chain", "dense"])
def test_calls_grow_in_proportion(
    shape: Callable[[int], Graph], step: Callable[[Graph], Graph]
) -> None:
    small, large = shape(80), shape(640)
    assert calls(step, large) < 10 * calls(step, small) + 1000


def calls(step: Callable[[Graph], Graph], graph: Graph) -> int:
    """How many Python functions (and turns of generators) a pass calls."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    # A pass may find work that another leaves: it is counted on what it makes, too.
    first = step(graph)
    sys.setprofile(count)
    try:
        step(graph)
        step(first)
    finally:
        sys.setprofile(None)
    return counted
