"""Where results are stored: straight into the output or the concatenation that they become part of.

A lookup whose rows end up in a concatenation writes them there, and no copy is left. A value can
be stored in one place only; its first concatenation in reverse program order wins, since the outer
one of nested concatenations comes last.
"""

from __future__ import annotations

from dataclasses import dataclass

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Concat, Reshape


@dataclass(frozen=True, slots=True)
class Part:
    """A value is elements [start, stop) along `axis` of the concatenation `whole`."""

    whole: Value
    axis: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """A value is output number `index` of the program."""

    index: int


Place = Part | OutputSlot


def plan_destinations(graph: Graph) -> dict[Value, Place]:
    """The place of each value that has one; values that only are reshaped share their place."""
    producers = graph.producers()
    places: dict[Value, Place] = {}
    for index, value in enumerate(graph.outputs):
        _claim(value, OutputSlot(index), producers, places)
    for node in reversed(graph.nodes):
        if not isinstance(node.op, Concat):
            continue
        start = 0
        for value in node.inputs:
            stop = start + value.type.static_shape[node.op.axis]
            _claim(value, Part(node.output, node.op.axis, start, stop), producers, places)
            start = stop
    return places


def _claim(
    value: Value, place: Place, producers: dict[Value, Node], places: dict[Value, Place]
) -> None:
    chain = [value]
    while (node := producers.get(chain[-1])) is not None and isinstance(node.op, Reshape):
        chain.append(node.inputs[0])
    if chain[-1] not in producers or any(v in places for v in chain):
        return
    places.update(dict.fromkeys(chain, place))
