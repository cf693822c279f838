"""What is computed at compile time, and what had better stay."""

from __future__ import annotations

import numpy as np
from tests.passes.examples import random_array

from swath.graph.ir import Graph, Value
from swath.graph.parser import parse_graph
from swath.graph.text import print_graph
from swath.graph.types import DType
from swath.passes.fold_constants import fold_constants


def parse(text: str) -> Graph:
    """A graph with random constants."""
    random = np.random.default_rng(0)
    return parse_graph(text, lambda value: random_array(value, random))


def names(values: tuple[Value, ...]) -> list[str]:
    """The names of values."""
    return [value.name for value in values]


def test_folds_chains_of_several_results() -> None:
    graph = fold_constants(
        parse("""
        constant %c: f32[4] @once = [3.0, 1.0, 2.0, 0.0]
        %values, %places = sort(%c, axis=0, descending=true)
        %sum = reduce(%values, function="sum", axes=[0], keepdim=true)
        return %sum, %places
        """)
    )
    assert graph.nodes == ()
    assert names(graph.constant_values) == ["sum", "places"]
    np.testing.assert_array_equal(graph.constants["sum"], [6])
    np.testing.assert_array_equal(graph.constants["places"], [0, 2, 1, 3])


def test_keeps_what_is_much_larger_than_its_inputs() -> None:
    text = """
        constant %a: f32[300,1] @once
        constant %b: f32[1,300] @once
        %product: f32[300,300] @once = binary(%a, %b, function="mul")
        %small: f32[300,2] @once = slice(%product, axis=1, start=0, stop=2)
        return %product, %small
        """
    graph = fold_constants(parse(text))
    assert [node.output.name for node in graph.nodes] == ["product"]
    assert names(graph.constant_values) == ["a", "b", "small"]


def test_folds_through_an_expand_but_keeps_it() -> None:
    graph = fold_constants(
        parse("""
        input %x: f32[1,3] @candidate
        constant %a: f32[1] @once = [2.0]
        %many: f32[3] @once = expand(%a, shape=[3])
        %twice: f32[3] @once = binary(%many, %many, function="add")
        %y: f32[1,3] @candidate = binary(%x, %many, function="mul")
        %z: f32[1,3] @candidate = binary(%y, %twice, function="add")
        return %z
        """)
    )
    assert [node.output.name for node in graph.nodes] == ["many", "y", "z"]
    np.testing.assert_array_equal(graph.constants["twice"], np.full(3, 4, np.float32))


def test_leaves_inputs_that_are_the_same_in_all_rows() -> None:
    text = """
        input %same: f32[3] @once
        constant %c: f32[3] @once = [1.0, 2.0, 3.0]
        %y: f32[3] @once = binary(%same, %c, function="add")
        return %y
        """
    graph = parse(text)
    assert print_graph(fold_constants(graph)) == print_graph(graph)


def test_leaves_a_lookup_outside_of_its_table_to_the_program() -> None:
    graph = fold_constants(
        parse("""
        constant %table: f32[3,2] @once
        constant %id: i64[1] @once = [3]
        %row: f32[1,2] @once = embedding(%table, %id)
        return %row
        """)
    )
    assert len(graph.nodes) == 1


def test_does_not_copy_tables() -> None:
    table = np.zeros((1000, 4), np.float32)
    graph = fold_constants(parse_graph(
        """
        input %id: i64[1] @candidate
        constant %table: f32[1000,4] @once
        %flat: f32[4000,1] @once = reshape(%table, shape=[4000, 1])
        %row: f32[1,1] @candidate = embedding(%flat, %id)
        return %row
        """,
        {"table": table},
    ))  # fmt: skip
    assert len(graph.nodes) == 1
    assert np.shares_memory(graph.constants["flat"], table)


def test_arrays_are_laid_out_in_order() -> None:
    graph = fold_constants(
        parse("""
        constant %c: f32[2,3] @once
        %turned: f32[3,2] @once = permute(%c, axes=[1, 0])
        return %turned
        """)
    )
    assert graph.constants["turned"].flags.c_contiguous


def test_scalars_become_constants_and_other_fills_stay() -> None:
    graph = fold_constants(
        parse("""
        input %x: f32[1,3] @candidate
        %one: f32[] @once = fill(shape=[], value=1, dtype=f32)
        %ones: f32[3] @once = fill(shape=[3], value=1, dtype=f32)
        %y: f32[1,3] @candidate = binary(%x, %one, function="add")
        %z: f32[1,3] @candidate = binary(%y, %ones, function="add")
        return %z
        """)
    )
    assert names(graph.constant_values) == ["one"]
    assert [node.op.name for node in graph.nodes] == ["binary", "fill", "binary"]
    assert graph.constant_values[0].type.dtype is DType.FLOAT32
