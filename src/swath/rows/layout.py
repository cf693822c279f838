"""The forward sweep of debatching: where the batch sits in every value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from swath.errors import Problem
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import EmbeddingBag
from swath.graph.ops.base import RowAxis, RowRuleError, Rows
from swath.graph.types import BatchSize, RaggedSize, TensorType
from swath.rows.numbers import follow_integer, known_integers, multiplied_row
from swath.rows.problems import (
    batched_constant,
    layout_defect,
    mixed_rows,
    ragged_output,
    returned_row_number,
    two_batch_axes,
)


@dataclass(slots=True)
class Layout:
    """Where the batch sits in each value, and what stood in the way.

    A value that depends on a refused one is missing from `rows`: one cause, one problem.
    `computed` holds the values with a batch that are no inputs.
    """

    rows: dict[Value, RowAxis | None] = field(default_factory=dict[Value, RowAxis | None])
    computed: set[Value] = field(default_factory=set[Value])
    problems: list[Problem] = field(default_factory=list[Problem])


def find_rows(graph: Graph, nodes: Iterable[Node]) -> Layout:
    """Where the batch sits in the inputs, constants and results of `nodes` (in order)."""
    layout = Layout()
    _place_inputs(graph, layout)
    _place_constants(graph, layout)
    integers = known_integers(graph)
    for node in nodes:
        if not all(value in layout.rows for value in node.inputs):
            continue
        try:
            rows = _result_rows(node, layout, integers)
        except RowRuleError as error:
            layout.problems.append(mixed_rows(node, error))
            continue
        follow_integer(node, integers)
        for value, row in zip(node.outputs, rows, strict=True):
            _check(node, value, row)
            layout.rows[value] = row
            if row is not None:
                layout.computed.add(value)
    _check_outputs(graph, layout)
    return layout


def _result_rows(node: Node, layout: Layout, integers: dict[Value, int]) -> Rows:
    types = tuple(value.type for value in node.inputs)
    rows = tuple(layout.rows[value] for value in node.inputs)
    if isinstance(node.op, EmbeddingBag) and node.inputs[2] in layout.computed:
        # A row reads its offset and the next one, which only an input can give it.
        raise RowRuleError("computes the offsets of bags", "make the offsets an input of the model")
    multiplied = multiplied_row(node, rows, integers)
    return node.op.result_rows(types, rows) if multiplied is None else (multiplied,)


def _place_inputs(graph: Graph, layout: Layout) -> None:
    for value in graph.inputs:
        axes = _call_axes(value.type)
        if len(axes) > 1:
            layout.problems.append(two_batch_axes(value))
            continue
        layout.rows[value] = _input_row(value.type, axes[0]) if axes else None


def _input_row(type: TensorType, axis: int) -> RowAxis:
    dim = type.shape[axis]
    # An input of [k * batch] holds the k elements of a row side by side.
    return RowAxis(axis, post=dim.multiple if isinstance(dim, BatchSize) else 1)


def _place_constants(graph: Graph, layout: Layout) -> None:
    for value in graph.constant_values:
        if _call_axes(value.type):
            layout.problems.append(batched_constant(value))
        else:
            layout.rows[value] = None


def _check_outputs(graph: Graph, layout: Layout) -> None:
    for value in graph.outputs:
        row = layout.rows.get(value)
        if row is None:
            continue
        if row.number:
            layout.problems.append(returned_row_number(value))
        if isinstance(value.type.shape[row.axis], RaggedSize):
            layout.problems.append(ragged_output(value))


def _check(node: Node, value: Value, row: RowAxis | None) -> None:
    """Shape rule and row rule must agree: one batch axis, of the size that the layout says."""
    axes = _call_axes(value.type)
    if row is None:
        if axes:
            raise layout_defect(node, value, "has a batch axis that its row rule doesn't know")
        return
    if axes != [row.axis]:
        raise layout_defect(node, value, f"should have the batch on axis {row.axis} alone")
    dim = value.type.shape[row.axis]
    multiple = dim.multiple if isinstance(dim, BatchSize) else 1
    if multiple != row.pre * row.post:
        raise layout_defect(node, value, f"should have a multiple of {row.pre * row.post}")


def _call_axes(type: TensorType) -> list[int]:
    return [axis for axis, dim in enumerate(type.shape) if not isinstance(dim, int)]
