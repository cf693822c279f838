"""Reads the before and after texts of docstrings.

    Before:
        <text of a graph>
    After:
        <text of a graph>

A docstring may hold several pairs. Constants without a value get random arrays.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from swath.graph.interpreter import interpret
from swath.graph.ir import Array, Graph, Value
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph
from swath.graph.types import DType, RaggedSize
from swath.graph.verifier import verify
from swath.passes.dead_code import dead_code

_PAIR = re.compile(
    r"^Before:\n(?P<before>(?:    .*\n)+)After:\n(?P<after>(?:    .*(?:\n|$))+)", re.MULTILINE
)


@dataclass(frozen=True)
class Example:
    """A graph, and what becomes of it."""

    before: str
    after: str


def examples(function: Callable[..., object]) -> Iterator[Example]:
    """The examples in the docstring of a function."""
    for match in _PAIR.finditer(inspect.getdoc(function) or ""):
        yield Example(inspect.cleandoc(match["before"]), inspect.cleandoc(match["after"]))


def check_example(example: Example, run: Callable[[Graph], Graph]) -> None:
    """Run a pass on an example: right text, well formed graph, equal results."""
    random = np.random.default_rng(1)
    before = parse_graph(example.before, lambda value: random_array(value, random))
    verify(before, "the example")
    after = run(before)
    verify(after, "the pass")
    assert text(dead_code(after)) == text(parse_graph(example.after, _zeros))
    inputs = [random_array(value, random) for value in before.inputs]
    assert_same_results(before, after, inputs)


def text(graph: Graph) -> str:
    """The text form without origins."""
    return print_graph(graph, origins=False)


def assert_same_results(before: Graph, after: Graph, inputs: Sequence[Array]) -> None:
    """Both graphs give the same, in double precision."""
    old = interpret(before, inputs, float64=True)
    new = interpret(after, inputs, float64=True)
    for one, other in zip(old, new, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def random_array(value: Value, random: np.random.Generator) -> Array:
    """Random elements of the type of a value; all are in [0, 3), so that they can be ids."""
    shape = [5 if isinstance(dim, RaggedSize) else dim for dim in value.type.shape]
    sizes = [dim for dim in shape if isinstance(dim, int)]
    dtype = value.type.dtype
    if dtype is DType.BOOL:
        return random.random(sizes) < 0.5
    if dtype.is_integer:
        return random.integers(0, 3, sizes).astype(dtype.numpy)
    return (3 * random.random(sizes)).astype(dtype.numpy)


def _zeros(value: Value) -> Array:
    return np.zeros(value.type.static_shape, value.type.dtype.numpy)
