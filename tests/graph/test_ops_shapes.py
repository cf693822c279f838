"""Shape rules: the types of eager PyTorch's fake tensors, batch sizes, and clear refusals."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from graph.op_cases import CASES, Draw
from swath.graph.ops import Linear
from swath.graph.ops.base import factors, product
from swath.graph.parser import TextError, parse_graph
from swath.graph.types import BatchSize, DType, RaggedSize, Space, TensorType


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_agrees_with_fake_tensors(name: str, seed: int) -> None:
    case = CASES[name](Draw(seed))
    types = tuple(TensorType(DType.of(array.dtype), array.shape) for array in case.inputs)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(torch.asarray(array.copy())) for array in case.inputs]
        result: Any = case.eager(*fakes)
        outputs = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
        expected = [(str(output.dtype), tuple(output.shape)) for output in outputs]
    inferred = case.op.result_types(types)
    assert [(f"torch.{type.dtype.numpy.name}", type.shape) for type in inferred] == expected


def infer(inputs: str, expression: str) -> str:
    """The types that `expression` gives for inputs %a, %b, ... of the types in `inputs`."""
    types = inputs.split()
    lines = [f"input %{name}: {type}" for name, type in zip("abcdef", types, strict=False)]
    results = "%y, %z" if expression.startswith(("sort", "topk")) else "%y"
    outputs = parse_graph("\n".join([*lines, f"{results} = {expression}", "return %y"])).outputs
    return str(outputs[0].type)


BATCHED = [
    ("f32[B,26,16]", "reshape(%a, shape=[26B,16])", "f32[26B,16]"),
    ("f32[26B,16]", "reshape(%a, shape=[B,416])", "f32[B,416]"),
    ("f32[B,0,3]", "reshape(%a, shape=[0])", "f32[0]"),
    ("i64[~ids]", "reshape(%a, shape=[~ids,1])", "i64[~ids,1]"),
    ("f32[B,3] f32[3]", 'binary(%a, %b, function="add")', "f32[B,3]"),
    ("f32[B,1] f32[1,B]", 'binary(%a, %b, function="add")', "f32[B,B]"),
    ("f32[B,3]", "permute(%a, axes=[1,0])", "f32[3,B]"),
    ("f32[4B,3]", "slice(%a, axis=0, start=0, stop=2B)", "f32[2B,3]"),
    ("f32[B,3]", "slice(%a, axis=0, start=1, stop=B)", "f32[B+-1,3]"),
    ("f32[B,3]", "slice(%a, axis=0, start=0, stop=1)", "f32[1,3]"),
    ("f32[2B,3]", "slice(%a, axis=0, start=0, stop=2B, step=2)", "f32[B,3]"),
    ("f32[1,3]", "expand(%a, shape=[B,3])", "f32[B,3]"),
    ("f32[B,3] f32[2B,3]", "concat(%a, %b, axis=0)", "f32[3B,3]"),
    ("f32[B,3] f32[1,3]", "concat(%a, %b, axis=0)", "f32[B+1,3]"),
    ("f32[B,3]", 'reduce(%a, function="sum", axes=[0], keepdim=false)', "f32[3]"),
    ("f32[B,3] f32[4,3]", "linear(%a, %b)", "f32[B,4]"),
    ("f32[B,3] f32[3,B]", "matmul(%a, %b)", "f32[B,B]"),
    ("f32[B,3]", "topk(%a, k=2, axis=0, largest=true)", "f32[2,3]"),
    ("f32[B,3,8] f32[4,3,2]",
     "convolution(%a, %b, stride=[1], padding=[[0,0]], dilation=[1], groups=1)", "f32[B,4,7]"),
    ("f32[9,4] i64[~ids] i64[B]", 'embedding_bag(%a, %b, %c, mode="sum", include_last=false)',
     "f32[B,4]"),
    ("f32[9,4] i64[~ids] i64[B+1]", 'embedding_bag(%a, %b, %c, mode="sum", include_last=true)',
     "f32[B,4]"),
    ("f32[B,5,3] i64[B] i64[B]", "index(%a, %b, %c, axes=[0,1])", "f32[B,3]"),
    ("f32[B,5,3] i64[4] i64[4]", "index(%a, %b, %c, axes=[0,2])", "f32[4,5]"),
    ("f32[B,5] i64[B,2]", "gather(%a, %b, axis=1)", "f32[B,2]"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "expression", "expected"), BATCHED)
def test_batch_sizes(inputs: str, expression: str, expected: str) -> None:
    assert infer(inputs, expression) == expected


REFUSED = [
    ("f32[3] f32[3]", 'unary(%a, %b, function="exp")', "takes 1 inputs, got 2"),
    ("f32[3]", 'unary(%a, function="exq")', "there is no function 'exq'"),
    ("i64[3]", 'unary(%a, function="exp")', "exp has no meaning for i64"),
    ("f32[3] f64[3]", 'binary(%a, %b, function="add")', "must have one element type"),
    ("f32[3] f32[4]", 'binary(%a, %b, function="add")', "cannot broadcast [3], [4]"),
    ("f32[B] f32[4]", 'binary(%a, %b, function="add")', "cannot broadcast [B], [4]"),
    ("i64[3] i64[3]", 'binary(%a, %b, function="div")', "div has no meaning for i64"),
    ("f32[3] f32[3] f32[3]", "where(%a, %b, %c)", "the condition must be bool"),
    ("f32[B,3]", "reshape(%a, shape=[B,4])", "another number of elements"),
    ("f32[B,3]", "reshape(%a, shape=[3])", "another number of elements"),
    ("f32[2,3]", "permute(%a, axes=[0,0])", "no permutation of 2 axes"),
    ("f32[2,3]", "slice(%a, axis=2, start=0, stop=1)", "axis 2 is not in 0..1"),
    ("f32[2,3]", "slice(%a, axis=1, start=0, stop=4)", "stop 4 is beyond size 3"),
    ("f32[2,3]", "take(%a, axis=1, indices=[3])", "index 3 is outside of axis 1"),
    ("f32[2,3]", "expand(%a, shape=[3])", "cannot broadcast to [3]"),
    ("f32[2,3] f32[3,3]", "concat(%a, %b, axis=1)", "differ outside of axis 1"),
    ("f32[~x] f32[2]", "concat(%a, %b, axis=0)", "a ragged axis cannot be lengthened"),
    ("f32[2,3]", 'reduce(%a, function="sum", axes=[1,1], keepdim=false)', "repeat"),
    ("i64[2,3]", 'reduce(%a, function="mean", axes=[1], keepdim=false)', "no meaning for i64"),
    ("f32[2,0]", 'reduce(%a, function="max", axes=[1], keepdim=false)', "of no elements"),
    ("f32[2,3]", "softmax(%a, axis=-1)", "axis -1 is not in 0..1"),
    ("f32[2,3]", "topk(%a, k=4, axis=1, largest=true)", "axis 1 has no 4 elements"),
    ("f32[B,3] f32[3,4]", "linear(%a, %b)", "expected x[..., K] and weight[N, K]"),
    ("f32[B,3] f32[4,3] f32[3]", "linear(%a, %b, %c)", "expected bias[N]"),
    ("f32[B,3] f32[4,3]", "matmul(%a, %b)", "expected a[..., M, K] and b[..., K, N]"),
    ("f32[B,3,2] f32[4,3,3]",
     "convolution(%a, %b, stride=[1], padding=[[0,0]], dilation=[1], groups=1)",
     "the kernel is larger than spatial axis 0"),
    ("f32[B,2,4] f32[B,3,4] f32[B,2,4]", "attention(%a, %b, %c, scale=1.0, causal=false)",
     "expected q[..., L, E], k[..., S, E] and v[..., S, D]"),
    ("f32[9,4] f32[B]", "embedding(%a, %b)", "ids must be int64 or int32"),
    ("i64[B,2] f32[9,4]", "lookup_group(%a, %b)", "expected ids[..., 1]"),
    ("i64[B,2] f32[9,4] f32[9,3]", "lookup_group(%a, %b, %c)", "one width"),
    ("f32[9,4] i64[~n] i64[B] f32[~n]",
     'embedding_bag(%a, %b, %c, %d, mode="mean", include_last=false)',
     "weights don't go with mode mean"),
    ("f32[B,5] i64[B]", "index(%a, %b, axes=[1,0])", "takes 3 inputs"),
    ("f32[B,5] f32[3]", "index(%a, %b, axes=[1])", "the indices must be integers"),
    ("f32[B,5] i64[3,2]", "gather(%a, %b, axis=1)", "larger than x outside of axis 1"),
    ("f32[3,5] i64[3,2] f32[3,1]", 'scatter(%a, %b, %c, axis=1, function="set")',
     "the source is smaller than the index"),
    ("f32[B,3] f32[2] f32[2] f32[2] f32[2]", "batch_norm(%a, %b, %c, %d, %e, epsilon=1e-5)",
     "four tensors [C]"),
    ("f32[B,3] f32[2]", "layer_norm(%a, %b, axes=1, epsilon=1e-5)", "the normalised axes"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "expression", "message"), REFUSED)
def test_refuses(inputs: str, expression: str, message: str) -> None:
    with pytest.raises(TextError) as caught:
        infer(inputs, expression)
    assert message in str(caught.value)
    # The message holds the types that didn't fit.
    assert f"({', '.join(inputs.split())})" in str(caught.value)


def test_products_of_sizes() -> None:
    assert product((BatchSize(), 26)) == BatchSize(26)
    assert product((BatchSize(1, 1),)) == BatchSize(1, 1)
    assert product((RaggedSize("x"), 1)) == RaggedSize("x")
    assert factors((BatchSize(26), 16)) == factors((16, BatchSize(), 26))
    assert factors((BatchSize(), 2)) != factors((BatchSize(1, 1), 2))
    with pytest.raises(ValueError, match=r"the product of \[B,B\] is not a multiple"):
        product((BatchSize(), BatchSize()))


@pytest.mark.parametrize("name", CASES)
def test_costs_are_numbers(name: str) -> None:
    case = CASES[name](Draw(3))
    types = tuple(
        TensorType(DType.of(array.dtype), array.shape, Space.CANDIDATE) for array in case.inputs
    )
    cost = case.op.cost(types, case.op.result_types(types))
    assert np.isfinite(cost.flops)
    assert cost.flops >= 0
    assert cost.parameter_bytes >= 0


def test_cost_of_a_linear_layer() -> None:
    x = TensorType(DType.FLOAT32, (1, 26, 16), Space.CANDIDATE)
    weight = TensorType(DType.FLOAT32, (8, 16), Space.ONCE)
    cost = Linear().cost((x, weight), Linear().result_types((x, weight)))
    assert cost.flops == 2 * 26 * 16 * 8
    assert cost.parameter_bytes == 8 * 16 * 4
