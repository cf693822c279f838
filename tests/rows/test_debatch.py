"""Debatching of small graphs: what is refused and how, what the row form computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rows.checks import (
    assert_replacing_rows,
    assert_rolling_rows,
    assert_row_form,
    random_inputs,
)
from rows.toys import MIXING, ROW_WISE, toy
from swath.errors import InternalError, UnsupportedModel, catalogue
from swath.graph.ir import GraphBuilder, Origin
from swath.graph.ops import Permute, Reduce, Softmax
from swath.graph.ops.base import RowAxis, Rows, Types
from swath.graph.parser import parse_graph
from swath.graph.text import same_graph
from swath.graph.types import BatchSize, DType, TensorType
from swath.graph.verifier import verify
from swath.rows import debatch

X = TensorType(DType.FLOAT32, (BatchSize(), 4))


@pytest.mark.parametrize("name", MIXING)
def test_refuses_mixing(name: str) -> None:
    text, message = MIXING[name]
    with pytest.raises(UnsupportedModel) as caught:
        debatch(toy(text))
    problem = caught.value.problems[0]
    assert message in problem.what
    assert problem.id in catalogue()


@pytest.mark.parametrize("name", ROW_WISE)
@pytest.mark.parametrize("batch", [0, 1, 5])
def test_row_form_computes_the_same(name: str, batch: int) -> None:
    graph = toy(ROW_WISE[name])
    form = debatch(graph)
    verify(form.graph, after="debatch")
    inputs = random_inputs(graph, batch, np.random.default_rng(batch))
    assert_row_form(graph, form, inputs, batch)


@pytest.mark.parametrize("name", [name for name in ROW_WISE if "bags" not in name])
def test_rows_are_independent(name: str) -> None:
    graph = toy(ROW_WISE[name])
    form = debatch(graph)
    rng = np.random.default_rng(1)
    inputs = random_inputs(graph, 5, rng)
    assert_replacing_rows(graph, form, inputs, 5, rng)
    assert_rolling_rows(graph, form, inputs, 5)


def test_row_form_text() -> None:
    graph = parse_graph(
        """input %x: f32[B,26,16]
        input %ids: i64[~ids]
        input %ends: i64[B+1]
        constant %table: f32[9,4]
        %flat: f32[26B,16] = reshape(%x, shape=[26B,16])
        %split: f32[B,2,208] = reshape(%flat, shape=[B,2,208])
        %front: f32[2,B,208] = permute(%split, axes=[1,0,2])
        %zero: f32[B,1] = fill(shape=[B,1], value=0.0, dtype=f32)
        %bag: f32[B,4] = embedding_bag(%table, %ids, %ends, mode="sum", include_last=true)
        return %front, %zero, %bag""",
        constants={"table": np.zeros((9, 4), np.float32)},
    )
    form = debatch(graph)
    expected = parse_graph(
        """input %x: f32[1,26,16] @candidate
        input %ids: i64[~ids] @position
        input %ends: i64[1] @candidate
        constant %table: f32[9,4] @once
        %flat: f32[26,16] @candidate = reshape(%x, shape=[26,16])
        %split: f32[1,2,208] @candidate = reshape(%flat, shape=[1,2,208])
        %front: f32[2,1,208] @candidate = permute(%split, axes=[1,0,2])
        %zero: f32[1,1] @once = fill(shape=[1,1], value=0.0, dtype=f32)
        %bag = embedding_bag(%table, %ids, %ends, mode="sum", include_last=true)
        return %front, %zero, %bag""",
        constants=form.graph.constants,
    )
    assert same_graph(form.graph, expected)
    assert form.input_rows == (RowAxis(0), None, RowAxis(0))
    assert form.output_rows == (RowAxis(1), RowAxis(0), RowAxis(0))


def test_all_problems_at_once_each_with_its_place() -> None:
    builder = GraphBuilder()
    x = builder.input("x", X)
    places = [Origin("tower.0", "model.py", line, f"line {line}") for line in (3, 8)]
    mean = builder.add(Reduce("mean", (0,), True), x, origin=places[0])
    soft = builder.add(Softmax(0), x, origin=places[1])
    # Follows from a refused value: no problem of its own.
    again = builder.add(Softmax(0), mean)
    with pytest.raises(UnsupportedModel) as caught:
        debatch(builder.build([soft, mean, again]))
    first, second = caught.value.problems
    assert (first.where.module, first.where.file, first.where.line) == ("tower.0", "model.py", 3)
    assert (second.where.line, second.where.source) == (8, "line 8")
    assert first.id == second.id == "SW030"
    assert "error[SW030]: the model averages over the batch axis" in str(caught.value)
    assert "tower.0  (model.py:8)   line 8" in str(caught.value)


def test_attention_over_the_batch_says_what_to_do() -> None:
    with pytest.raises(UnsupportedModel, match="batch_first=True"):
        debatch(toy(MIXING["attention over the batch"][0]))


def test_constant_with_the_batch_in_its_shape() -> None:
    builder = GraphBuilder()
    mask = TensorType(DType.FLOAT32, (BatchSize(), 4))
    constant = builder.constant("mask", np.zeros((3, 4), np.float32), mask)
    x = builder.input("x", X)
    with pytest.raises(UnsupportedModel, match="SW032"):
        debatch(builder.build([x, constant]))


def test_input_with_two_dynamic_axes() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (BatchSize(), BatchSize())))
    with pytest.raises(UnsupportedModel, match=r"SW033.*`x` has two dynamic axes"):
        debatch(builder.build([x]))


@dataclass(frozen=True)
class _Forgetful(Permute):
    """A permutation whose row rule forgets that axes move."""

    name: ClassVar[str] = "forgetful"

    def row(self, types: Types, rows: Rows) -> Rows:
        return rows


@dataclass(frozen=True)
class _Careless(Permute):
    """A permutation whose row rule loses the batch."""

    name: ClassVar[str] = "careless"

    def row(self, types: Types, rows: Rows) -> Rows:
        return (None,)


@pytest.mark.parametrize("op", [_Forgetful((1, 0)), _Careless((1, 0))])
def test_checks_row_rules_against_shape_rules(op: Permute) -> None:
    builder = GraphBuilder()
    y = builder.add(op, builder.input("x", X))
    with pytest.raises(InternalError, match="SW920"):
        debatch(builder.build([y]))


def test_unused_constants_go_and_unused_inputs_stay() -> None:
    builder = GraphBuilder()
    builder.constant("unused", np.zeros(3, np.float32), TensorType(DType.FLOAT32, (3,)))
    x, _ = builder.input("x", X), builder.input("other", X)
    form = debatch(builder.build([x]))
    assert [value.name for value in form.graph.inputs] == ["x", "other"]
    assert form.graph.constant_values == ()
