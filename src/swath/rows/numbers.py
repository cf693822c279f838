"""Row numbers times constants.

`arange(batch) * 50 + j` is an index into [batch * 50] that stays within its own row. That needs
the value of the constant, which the row rules of the ops don't see.
"""

from __future__ import annotations

from dataclasses import replace

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Binary, Cast, Expand, Fill, Reshape
from swath.graph.ops.base import RowAxis, Rows
from swath.graph.ops.row_rules import aligned_row


def known_integers(graph: Graph) -> dict[Value, int]:
    """The constants that hold a single whole number."""
    integers: dict[Value, int] = {}
    for value in graph.constant_values:
        array = graph.constants[value.name]
        if array.size == 1 and float(array.flat[0]).is_integer():
            integers[value] = int(array.flat[0])
    return integers


def follow_integer(node: Node, integers: dict[Value, int]) -> None:
    """Add the result of `node` to `integers` if all of its elements are one whole number."""
    op = node.op
    if isinstance(op, Fill) and float(op.value).is_integer():
        integers[node.output] = int(op.value)
    if isinstance(op, Cast | Reshape | Expand) and node.inputs[0] in integers:
        integers[node.output] = integers[node.inputs[0]]


def multiplied_row(node: Node, rows: Rows, integers: dict[Value, int]) -> RowAxis | None:
    """Where the batch sits in a row number times a whole number; None for any other node."""
    if not isinstance(node.op, Binary) or node.op.function != "mul":
        return None
    types = tuple(value.type for value in node.inputs)
    for row, factor in zip(rows, reversed(node.inputs), strict=True):
        if row is not None and row.number and factor in integers:
            aligned = aligned_row(types, rows)
            number = row.number * integers[factor]
            return None if aligned is None else replace(row, axis=aligned.axis, number=number)
    return None
