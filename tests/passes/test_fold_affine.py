"""Where scales and shifts go into weights, and where they must not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.passes.examples import assert_same_results, random_array

from swath.graph.ir import Graph
from swath.graph.parser import parse_graph
from swath.graph.verifier import verify
from swath.passes.dead_code import dead_code
from swath.passes.fold_affine import fold_affine
from swath.passes.lower_batch_norm import lower_batch_norm

BATCH_NORM = """
    constant %mean: f32[CHANNELS] @once
    constant %variance: f32[CHANNELS] @once
    constant %gamma: f32[CHANNELS] @once
    constant %beta: f32[CHANNELS] @once
"""
BATCH_NORM_NODE = "batch_norm(%INPUT, %mean, %variance, %gamma, %beta, epsilon=0.001)"


def folded(text: str) -> Graph:
    """The graph behind the pass; it must give what the text gives."""
    random = np.random.default_rng(3)
    before = parse_graph(text, lambda value: random_array(value, random))
    after = dead_code(fold_affine(lower_batch_norm(before)))
    verify(after, "fold_affine")
    assert_same_results(before, after, [random_array(value, random) for value in before.inputs])
    return after


def ops(graph: Graph) -> Counter[str]:
    """How many nodes of each op there are."""
    return Counter(node.op.name for node in graph.nodes)


def batch_norm(channels: int, source: str) -> tuple[str, str]:
    """The constants and the node of a batch norm."""
    return BATCH_NORM.replace("CHANNELS", str(channels)), BATCH_NORM_NODE.replace("INPUT", source)


def test_batch_norm_behind_linear() -> None:
    constants, node = batch_norm(3, "h")
    graph = folded(f"""
        input %x: f32[1,4] @candidate
        constant %w: f32[3,4] @once
        constant %b: f32[3] @once
        {constants}
        %h = linear(%x, %w, %b)
        %n = {node}
        %y = unary(%n, function="relu")
        return %y
        """)
    assert ops(graph) == {"linear": 1, "unary": 1}
    assert graph.nodes[0].output.name == "n"


def test_batch_norm_between_activation_and_linear() -> None:
    constants, node = batch_norm(4, "a")
    graph = folded(f"""
        input %x: f32[1,4] @candidate
        constant %w: f32[3,4] @once
        {constants}
        %a = unary(%x, function="tanh")
        %n = {node}
        %y = linear(%n, %w)
        return %y
        """)
    assert ops(graph) == {"unary": 1, "linear": 1}
    assert len(graph.nodes[1].inputs) == 3


def test_batch_norm_around_a_reshape() -> None:
    """Channels in the middle: each feature of the flat value has the scale of its channel."""
    constants, node = batch_norm(2, "x")
    graph = folded(f"""
        input %x: f32[1,2,3] @candidate
        constant %w: f32[4,6] @once
        {constants}
        %n = {node}
        %flat = reshape(%n, shape=[1, 6])
        %y = linear(%flat, %w)
        return %y
        """)
    assert ops(graph) == {"reshape": 1, "linear": 1}


def test_batch_norm_behind_reshaped_linear() -> None:
    constants, node = batch_norm(3, "flat")
    graph = folded(f"""
        input %x: f32[1,5,4] @candidate
        constant %w: f32[3,4] @once
        {constants}
        %h = linear(%x, %w)
        %flat = reshape(%h, shape=[5, 3])
        %y = {node}
        return %y
        """)
    assert ops(graph) == {"reshape": 1, "linear": 1}


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("groups", [1, 2])
def test_batch_norms_around_a_convolution(groups: int, padding: int) -> None:
    front, front_node = batch_norm(4, "x")
    behind, behind_node = batch_norm(6, "c")
    for name in ("mean", "variance", "gamma", "beta"):
        behind, behind_node = (
            text.replace(f"%{name}", f"%{name}2") for text in (behind, behind_node)
        )
    attributes = f"stride=[2], padding=[[0, {padding}]], dilation=[1], groups={groups}"
    graph = folded(f"""
        input %x: f32[1,4,7] @candidate
        constant %w: f32[6,{4 // groups},2] @once
        {front}
        {behind}
        %n = {front_node}
        %c = convolution(%n, %w, {attributes})
        %y = {behind_node}
        return %y
        """)
    # The zeros of the border are not shifted: the batch norm in front stays if there are any.
    assert ops(graph) == ({"convolution": 1} if not padding else {"convolution": 1, "binary": 2})


def test_divisions_and_differences() -> None:
    graph = folded("""
        input %x: f32[1,2] @candidate
        constant %w: f32[2,2] @once
        constant %two: f32[] @once = 2.0
        constant %b: f32[1,2] @once = [0.5, 0.25]
        %h = linear(%x, %w)
        %d = binary(%h, %two, function="div")
        %y = binary(%d, %b, function="sub")
        return %y
        """)
    assert ops(graph) == {"linear": 1}


@pytest.mark.parametrize(
    "lines",
    [
        # Something else reads the product
        """%h = linear(%x, %w)
           %y = binary(%h, %c, function="mul")
           %z = unary(%h, function="exp")""",
        # Something else reads the scaled value
        """%y = binary(%x, %c, function="mul")
           %z = linear(%y, %w)""",
        # The scale differs within a channel
        """%h = linear(%wide, %w)
           %y = binary(%h, %square, function="mul")
           %z = unary(%y, function="exp")""",
        # The scale makes the value larger
        """%h = linear(%x, %w)
           %y = binary(%h, %square, function="mul")
           %z = unary(%y, function="exp")""",
        # The constant is divided, not the divisor
        """%h = linear(%x, %w)
           %y = binary(%c, %h, function="div")
           %z = unary(%y, function="exp")""",
        # The weight is no constant
        """%h = linear(%x, %wide)
           %y = binary(%h, %c, function="mul")
           %z = unary(%y, function="exp")""",
    ],
)
def test_leaves_alone(lines: str) -> None:
    text = f"""
        input %x: f32[1,2] @candidate
        input %wide: f32[2,2] @candidate
        constant %w: f32[2,2] @once
        constant %c: f32[2] @once = [0.5, 2.0]
        constant %square: f32[2,2] @once = [1.0, 2.0, 3.0, 4.0]
        {lines}
        return %y, %z
        """
    assert len(folded(text).nodes) == len(parse_graph(text, zeros).nodes)


def zeros(value: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """An array for a constant of which only the type counts."""
    assert hasattr(value, "type")
    return np.zeros((2, 2), np.float32)
