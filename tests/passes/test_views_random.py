"""Random views and what works on them: `delay_permutes` and the chain rules keep the numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.passes.examples import assert_same_results, random_array

from swath.graph.ir import Graph, GraphBuilder, Value
from swath.graph.ops import (
    ArgReduce,
    Binary,
    Cast,
    Concat,
    Cumulative,
    Expand,
    Linear,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Take,
    Unary,
)
from swath.graph.types import DType, Space, TensorType
from swath.graph.verifier import verify
from swath.passes.contract_products import contract_products
from swath.passes.dead_code import dead_code
from swath.passes.delay_permutes import delay_permutes
from swath.passes.rewriter import rewrite
from swath.passes.rules.chains import CHAIN_RULES
from swath.passes.rules.products import PRODUCT_RULES
from swath.passes.simplify import simplify


def _view(draw: st.DrawFn, builder: GraphBuilder, x: Value) -> Value:
    shape = x.type.static_shape
    if draw(st.booleans()):
        return builder.add(Permute(tuple(draw(st.permutations(range(len(shape)))))), x)
    sizes = [size for size in shape if size > 1]
    whole = draw(st.booleans())
    flat = [prod(sizes)] if whole else [*sizes, 1]
    divided = [part for size in flat for part in ((2, size // 2) if size % 2 == 0 else (size,))]
    return builder.add(Reshape(tuple(divided)), x)


def _along(draw: st.DrawFn, builder: GraphBuilder, x: Value) -> Value:
    rank = x.type.rank
    axis = draw(st.integers(0, rank - 1))
    size = x.type.static_shape[axis]
    keepdim = draw(st.booleans())
    op = draw(
        st.sampled_from(
            [
                Slice(axis, 0, max(1, size - 1)),
                Take(axis, tuple(reversed(range(size)))),
                Softmax(axis),
                Cumulative("sum", axis),
                Reduce("max", (axis,), keepdim),
                ArgReduce("max", axis, keepdim),
            ]
        )
    )
    if isinstance(op, Reduce | ArgReduce) and rank == 1:
        op = replace(op, keepdim=True)
    value = builder.add(op, x)
    return value if value.type.dtype.is_float else builder.add(Cast(DType.FLOAT32), value)


def _elementwise(draw: st.DrawFn, builder: GraphBuilder, x: Value) -> Value:
    way = draw(st.sampled_from(["relu", "self", "axis", "concat", "linear", "expand"]))
    shape = x.type.static_shape
    axis = draw(st.integers(0, len(shape) - 1))
    if way == "relu":
        return builder.add(Unary("relu"), x)
    if way == "self":
        return builder.add(Binary("add"), x, builder.add(Unary("neg"), x))
    if way == "axis":
        return builder.add(Binary("mul"), x, _constant(builder, shape[axis:]))
    if way == "concat":
        return builder.add(Concat(axis), x, builder.add(Unary("relu"), x))
    if way == "linear":
        return builder.add(Linear(), x, _constant(builder, (3, shape[-1])))
    one = builder.add(Slice(axis, 0, 1), x)
    return builder.add(Expand((*shape[:axis], 2, *shape[axis + 1 :])), one)


def _constant(builder: GraphBuilder, shape: tuple[int, ...]) -> Value:
    array = np.linspace(0.5, 1.5, prod(shape), dtype=np.float32).reshape(shape)
    return builder.constant("c", array, TensorType(DType.FLOAT32, shape, Space.ONCE))


@st.composite
def view_graphs(draw: st.DrawFn) -> Graph:
    """Views, element-wise ops and ops along an axis, each on a value made so far."""
    builder = GraphBuilder()
    values = [builder.input("x", TensorType(DType.FLOAT32, (1, 4, 3, 2), Space.CANDIDATE))]
    for _ in range(draw(st.integers(1, 12))):
        x = values[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(values))
        step = draw(st.sampled_from([_view, _view, _view, _along, _elementwise]))
        made = step(draw, builder, x)
        if made.type.elements <= 256:
            values.append(made)
    return builder.build(draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))


CHANGES = (
    delay_permutes,
    simplify,
    partial(rewrite, rules=CHAIN_RULES),
    partial(rewrite, rules=PRODUCT_RULES),
)


@pytest.mark.parametrize("change", CHANGES, ids=["delay", "simplify", "chains", "products"])
@settings(max_examples=150, deadline=None)
@given(graph=view_graphs())
def test_same_numbers(change: partial[Graph], graph: Graph) -> None:
    changed = change(graph)
    verify(changed, "the change")
    row = [random_array(value, np.random.default_rng(2)) for value in graph.inputs]
    assert_same_results(graph, changed, row)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_sums_of_broadcast_products(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    builder = GraphBuilder()
    operands: list[Value] = []
    for name in "ab":
        shape = tuple(size if data.draw(st.booleans()) else 1 for size in sizes)
        shape = shape[data.draw(st.integers(0, len(shape) - 1)) :]
        given_ = TensorType(DType.FLOAT32, shape, Space.CANDIDATE)
        constant = data.draw(st.booleans()) and name == "b"
        operands.append(_constant(builder, shape) if constant else builder.input(name, given_))
    product = builder.add(Binary("mul"), *operands)
    axes = data.draw(st.sets(st.integers(0, product.type.rank - 1), min_size=1))
    op = Reduce("sum", tuple(sorted(axes)), data.draw(st.booleans()))
    graph = builder.build([builder.add(op, product)])
    changed = contract_products(graph)
    verify(changed, "contract_products")
    row = [random_array(value, np.random.default_rng(2)) for value in graph.inputs]
    assert_same_results(graph, changed, row)


def test_a_column_needs_no_turned_matrix() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (4, 1, 9, 1), Space.CANDIDATE))
    v = builder.input("v", TensorType(DType.FLOAT32, (1, 4, 1), Space.CANDIDATE))
    turned = builder.add(Reshape((1, 9, 4)), builder.add(Permute((1, 2, 0, 3)), x))
    graph = builder.build([builder.add(MatMul(), turned, v)])
    changed = dead_code(simplify(graph))
    verify(changed, "simplify")
    assert not any(isinstance(node.op, Permute) for node in changed.nodes)
    row = [random_array(value, np.random.default_rng(2)) for value in graph.inputs]
    assert_same_results(graph, changed, row)
