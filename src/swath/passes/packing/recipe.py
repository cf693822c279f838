"""What a recipe is: the batched form of a group of nodes of one kind.

A *pack* of n values of one type is one value [n, *shape]. A recipe says which operands it takes,
as packs or (where all members read the same value) as they are, and builds the pack of the
members' results from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from swath.graph.ir import Node, Value
from swath.passes.packing.emitter import Emitter


@dataclass(frozen=True, slots=True)
class Packed:
    """The operand is the pack of these values."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Single:
    """The operand is this value, the same for every member."""

    value: Value


Operand = Packed | Single
Build = Callable[[Emitter, tuple[Value, ...]], Value]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make the pack of a group's results.

    `copies` counts elements that are only moved, `nodes` those made that are not mere views.
    """

    operands: tuple[Operand, ...]
    build: Build
    copies: int = 0
    nodes: int = 1


def operand(values: Sequence[Value]) -> Operand:
    """The values as they are if they are one, else their pack."""
    same = all(value is values[0] for value in values)
    return Single(values[0]) if same else Packed(tuple(values))


def column(nodes: Sequence[Node], position: int) -> tuple[Value, ...]:
    """The inputs of the nodes at one position."""
    return tuple(node.inputs[position] for node in nodes)


def pack_name(nodes: Sequence[Node]) -> str:
    """The name of a group's result: `e0_x26` is the pack of 26 values like `e0`."""
    return f"{nodes[0].output.name}_x{len(nodes)}"


def align(emitter: Emitter, value: Value, taken: Operand, rank: int) -> Value:
    """A pack with axes of size 1 behind the first, so that its members have `rank` axes.

    A single value is broadcast from the right and needs none.
    """
    if isinstance(taken, Single):
        return value
    count, *shape = value.type.static_shape
    return emitter.reshape(value, (count, *(1,) * (rank - len(shape)), *shape))
