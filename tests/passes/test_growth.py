"""Work grows in proportion to the graph: counted in rules asked and types inferred, not in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import Binary, Cast, Concat, Embedding, Linear, Reshape, Slice, Unary
from swath.graph.types import DType, Space, TensorType
from swath.passes.rewriter import Rewriter
from swath.passes.rules import SIMPLIFY_RULES

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


@pytest.mark.parametrize("shape", SHAPES, ids=["columns", "chain", "dense"])
def test_rules_are_asked_in_proportion(
    shape: Callable[[int], Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = work(shape(100), monkeypatch), work(shape(800), monkeypatch)
    assert large < 9 * small


def work(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rules asked, producers looked up and inputs typed while a graph is simplified."""
    counted = 0
    looked_up = Rewriter.producer

    def producer(self: Rewriter, value: Value) -> object:
        nonlocal counted
        counted += 1
        return looked_up(self, value)

    monkeypatch.setattr(Rewriter, "producer", producer)
    rewriter = Rewriter(graph, SIMPLIFY_RULES)
    rewriter.run()
    monkeypatch.undo()
    return rewriter.steps + counted
