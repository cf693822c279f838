"""`fuse_parallel_linears`: what is joined, what is left, and that the numbers stay."""

from __future__ import annotations

from collections import Counter

import numpy as np

from swath.graph.interpreter import interpret
from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import Binary, Linear, Unary
from swath.graph.types import DType, Space, TensorType
from swath.graph.verifier import verify
from swath.passes.fuse_parallel_linears import fuse_parallel_linears

RANDOM = np.random.default_rng(3)


def linears(
    builder: GraphBuilder, x: Value, columns: list[int], biased: bool = True
) -> list[Value]:
    """Linears of x with these numbers of columns; every second one has a bias."""
    made: list[Value] = []
    for i, count in enumerate(columns):
        shapes = [(count, x.type.static_shape[-1])] + [(count,)] * (biased and i % 2)
        weights = [
            builder.constant(
                "w",
                RANDOM.standard_normal(shape).astype(np.float32),
                TensorType(DType.FLOAT32, shape, Space.ONCE),
            )
            for shape in shapes
        ]
        made.append(builder.add(Linear(), x, *weights))
    return made


def start(*shape: int) -> tuple[GraphBuilder, Value]:
    """A builder with one input."""
    builder = GraphBuilder()
    return builder, builder.input("x", TensorType(DType.FLOAT32, shape, Space.CANDIDATE))


def fused(graph: Graph) -> Counter[str]:
    """The nodes by op after the pass, once its numbers are those of the graph."""
    result = fuse_parallel_linears(graph)
    verify(result, "fuse_parallel_linears")
    x = RANDOM.standard_normal(graph.inputs[0].type.static_shape).astype(np.float32)
    pairs = zip(interpret(graph, [x]), interpret(result, [x]), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)
    return Counter(node.op.name for node in result.nodes)


def test_narrow_linears_join() -> None:
    builder, x = start(1, 26, 16)
    graph = builder.build(linears(builder, x, [32, 3, 32, 5]))
    assert fused(graph) == {"linear": 1, "slice": 4}


def test_wide_linears_stay() -> None:
    builder, x = start(1, 16)
    graph = builder.build(linears(builder, x, [128, 64, 256]))
    assert fuse_parallel_linears(graph) is graph


def test_a_single_narrow_one_stays() -> None:
    builder, x = start(1, 16)
    graph = builder.build(linears(builder, x, [3, 64]))
    assert fuse_parallel_linears(graph) is graph


def test_functions_move_in_front_of_the_slices() -> None:
    builder, x = start(1, 8)
    a, b, c, d = linears(builder, x, [4, 6, 4, 4], biased=False)
    outputs = [builder.add(Unary("relu"), a), builder.add(Unary("relu"), b), c, d]
    assert fused(builder.build(outputs)) == {"linear": 2, "unary": 1, "slice": 4}


def test_a_linear_of_a_later_value_is_of_another_family() -> None:
    builder, x = start(1, 8)
    a, b = linears(builder, x, [8, 8])
    c, d = linears(builder, a, [8, 8])
    total = builder.add(Binary("add"), builder.add(Binary("add"), b, c), d)
    assert fused(builder.build([total]))["linear"] == 2


def test_weights_that_are_computed_stay() -> None:
    builder, x = start(1, 8)
    weight = builder.input("w", TensorType(DType.FLOAT32, (4, 8), Space.ONCE))
    outputs = [builder.add(Linear(), x, weight), *linears(builder, x, [4])]
    graph = builder.build(outputs)
    assert fuse_parallel_linears(graph) is graph
