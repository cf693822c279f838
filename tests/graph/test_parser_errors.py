"""A text that is no graph is refused with the place and the reason."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from swath.graph.parser import TextError, parse_graph

HEAD = "input %x: f32[1,4] @candidate\n"


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("%y = unary(%z, function=\"exp\")", 12, "%z is not defined above"),
        ("%x = unary(%x, function=\"exp\")", 1, "%x is defined twice"),
        ("%y = unari(%x)", 6, "there is no op `unari`"),
        ("%y = unary(%x)", 6, "`unary` lacks attributes among function"),
        ("%y = unary(%x, funktion=\"exp\")", 16, "`unary` has no attribute `funktion`"),
        ("%y = unary(%x, function=exp)", 25, "expected a value of an attribute, found exp"),
        ("%y: f31[1] = unary(%x)", 5, "there is no element type `f31`"),
        ("%y: f32[a] = unary(%x)", 9, "expected a value of an attribute, found a"),
        ("%y: f32[f32] = unary(%x)", 9, "expected a size, found f32"),
        ("%y: f32[1] @row = unary(%x)", 13, "there is no row space `row`"),
        ("%y unary(%x)", 4, "expected `=`, found unary"),
        ("%y = unary(%x, function=\"exp\") %x", 32, "unexpected %x"),
        ("%y = unary(%x %x)", 15, "expected `,`, found %x"),
        ("%y = unary(%x", 14, "expected `,`, found the end of the line"),
        ("%y, %z = unary(%x, function=\"exp\")", 10, "`unary` has 1 results, not 2"),
        ("%y = concat(%x, axis=7)", 6, "axis 7"),
        ("y = unary(%x)", 1, "expected the name of a value, found y"),
        ("constant %c: f32[2] @once", 10, "constant %c has neither a value nor an array"),
        ("constant %c: f32[2] @once = [1, 2, 3]", 29, "3 elements for f32[2] @once"),
        ("constant %c: f32[2] = \"one\"", 23, "no elements of type f32[2]"),
        ("constant %c: i8[1] = [300]", 22, "no elements of type i8[1]"),
        ("constant %c: f32[B] = 1", 10, "the shape of constant %c must be ints"),
        ("%y = unary(%x; 3)", 14, "unexpected ';'"),
        ("return %x\nreturn %x", 1, "there is a statement behind `return`"),
    ],
)  # fmt: skip
def test_says_where_and_why(line: str, column: int, what: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_graph(f"{HEAD}{line}\n")
    assert caught.value.line == 2 + line.count("\n")
    assert caught.value.column == column
    assert what in str(caught.value)
    assert caught.value.problem.id == "SW903"


def test_shows_the_line_with_a_caret() -> None:
    with pytest.raises(TextError) as caught:
        parse_graph(f"{HEAD}%y = unary(%z)\n")
    *_, source, caret, _ = str(caught.value).splitlines()
    assert source.index("%z") == caret.index("^")


def test_crosses_processes() -> None:
    error = TextError(3, 4, "what", "the line")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.column) == (str(error), 3, 4)


def test_wants_a_return() -> None:
    with pytest.raises(TextError, match="no `return`"):
        parse_graph(HEAD)


def test_wants_the_array_that_the_type_says() -> None:
    text = "constant %c: f32[9] @once\nreturn %c\n"
    with pytest.raises(TextError, match="its array float64"):
        parse_graph(text, {"c": np.zeros(9)})
