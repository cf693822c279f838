"""Which groups of nodes become packs.

1. From the outputs down: the values that seeds want together form groups by height and kind; the
   operands of a group are wanted together in turn. Each value is in at most one group, however
   many places want it, so that they share one pack.
2. From the inputs up: a group that costs more than it saves is given up.
3. From the outputs down again: so is one that nobody wants any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Concat
from swath.passes.packing.emitter import affine
from swath.passes.packing.kinds import (
    Kind,
    group_by_kind,
    heights,
    is_part_kind,
    part_indices,
)
from swath.passes.packing.recipe import Packed, Recipe
from swath.passes.packing.recipes import recipe_of
from swath.passes.packing.seeds import Chain, chains, seeds

# The cost of a node and of a view on a result, in copied elements: about what a loop of its own
# takes against copying vectors of 16.
NODE_COST = 128
VIEW_COST = 32


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nodes of one kind and height that are packed in this order."""

    nodes: tuple[Node, ...]
    recipe: Recipe
    height: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups by ascending height, the place of every packed value in them, the chains."""

    groups: tuple[Group, ...]
    places: dict[Value, tuple[Group, int]]
    heights: dict[Value, int]
    chains: dict[Value, Chain]


def plan(graph: Graph) -> Plan:
    """The packs that pay."""
    planner = _Planner(graph)
    planner.find_groups()
    planner.drop_costly()
    planner.drop_unwanted()
    groups = sorted(planner.groups, key=lambda group: group.height)
    return Plan(tuple(groups), planner.places, planner.heights, planner.chains)


class _Planner:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.heights = heights(graph)
        self.chains = chains(graph)
        self.groups: list[Group] = []  # by descending height
        self.places: dict[Value, tuple[Group, int]] = {}
        self.together, self.others = seeds(graph, self.chains)
        self._wanted_together = set(self.together)
        self._producers = graph.producers()
        self._users = graph.users()

    def find_groups(self) -> None:
        top = max(self.heights.values(), default=0)
        pending: list[dict[Node, None]] = [{} for _ in range(top + 1)]

        def want(values: Iterable[Value]) -> None:
            for value in values:
                if value in self._producers:
                    pending[self.heights[value]][self._producers[value]] = None

        want(self.together)
        want(self.others)
        for height in range(top, 0, -1):
            for kind, nodes in group_by_kind(pending[height]).items():
                group = self._group(kind, nodes, height)
                if group is None:
                    continue
                self.groups.append(group)
                self.places.update((node.output, (group, i)) for i, node in enumerate(group.nodes))
                for taken in _packed(group):
                    want(taken.values)
                    self._wanted_together.update(taken.values)

    def _group(self, kind: Kind, nodes: list[Node], height: int) -> Group | None:
        if len(nodes) < 2:
            return None
        if is_part_kind(kind):
            nodes = sorted(nodes, key=part_indices)
        recipe = recipe_of(kind, nodes, self.graph)
        return None if recipe is None else Group(tuple(nodes), recipe, height)

    def drop_costly(self) -> None:
        packed_readers = {node for group in self.groups for node in group.nodes}
        packed_readers.update(node for node in self.graph.nodes if isinstance(node.op, Concat))
        packed_readers.update(node for chain in self.chains.values() for node in chain.nodes)
        outputs = set(self.graph.outputs)

        def read_alone(node: Node) -> bool:
            readers = self._users.get(node.output, [])
            return node.output in outputs or any(r not in packed_readers for r in readers)

        kept: list[Group] = []
        for group in reversed(self.groups):
            alone = sum(map(read_alone, group.nodes))
            saved = NODE_COST * (len(group.nodes) - group.recipe.nodes) - VIEW_COST * alone
            if saved + self._joined(group) > group.recipe.copies + self._cost(group):
                kept.append(group)
            else:
                self._drop(group)
        self.groups = kept[::-1]

    def drop_unwanted(self) -> None:
        wanted = {*self.together, *self.others}
        kept: list[Group] = []
        for group in self.groups:
            if sum(node.output in wanted for node in group.nodes) < 2:
                self._drop(group)
                continue
            kept.append(group)
            for taken in _packed(group):
                wanted.update(taken.values)
        self.groups = kept

    def _joined(self, group: Group) -> int:
        """Elements that would be copied together if the members stayed alone."""
        count = sum(node.output in self._wanted_together for node in group.nodes)
        return count * group.nodes[0].output.type.elements

    def _cost(self, group: Group) -> int:
        """Elements copied to bring the operands together."""
        return sum(self._copies(taken.values) for taken in _packed(group))

    def _copies(self, values: tuple[Value, ...]) -> int:
        if all(value.name in self.graph.constants for value in values):
            return 0
        places = [self.places.get(value) for value in values]
        whole = len({place and place[0] for place in places}) == 1 and places[0] is not None
        lanes = tuple(place[1] for place in places if place is not None)
        if whole and affine(lanes) is not None:
            return 0
        return len(values) * values[0].type.elements

    def _drop(self, group: Group) -> None:
        for node in group.nodes:
            del self.places[node.output]


def _packed(group: Group) -> list[Packed]:
    return [taken for taken in group.recipe.operands if isinstance(taken, Packed)]
