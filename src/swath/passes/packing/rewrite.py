"""The new graph by a plan: every group as one pack, and what reads its members as views of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby

import numpy as np

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Concat, Reduce
from swath.passes.packing.emitter import Emitter
from swath.passes.packing.plan import Group, Plan
from swath.passes.packing.recipe import Operand, Single
from swath.passes.packing.seeds import Chain


def rewrite(graph: Graph, plan: Plan) -> Graph:
    """The graph with every group of the plan as one pack."""
    return _Rewriter(graph, plan).run()


class _Rewriter:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan
        self.emitter = Emitter(graph)
        self._packs: dict[Group, Value] = {}
        self._memo: dict[tuple[Value, ...], Value] = {}

    def run(self) -> Graph:
        # By height, since a pack stands for nodes from all over the graph.
        packed = {node for group in self.plan.groups for node in group.nodes}
        steps: list[tuple[int, Group | Node]] = [(g.height, g) for g in self.plan.groups]
        steps += [
            (self.plan.heights[node.outputs[0]], node)
            for node in self.graph.nodes
            if node not in packed
        ]
        for _, step in sorted(steps, key=lambda step: step[0]):
            if isinstance(step, Group):
                self._pack_group(step)
            else:
                self._single_node(step)
        for value in self.graph.outputs:
            self._alone(value)
        return self.emitter.build()

    def _pack_group(self, group: Group) -> None:
        values = tuple(self._operand(taken) for taken in group.recipe.operands)
        self._packs[group] = group.recipe.build(self.emitter, values)

    def _operand(self, taken: Operand) -> Value:
        if isinstance(taken, Single):
            return self._alone(taken.value)
        return self._pack(taken.values)

    def _single_node(self, node: Node) -> None:
        value: Value | None = None
        if isinstance(node.op, Concat):
            value = self._concat(node, node.op.axis)
        elif node.outputs[0] in self.plan.chains:
            value = self._reduction(self.plan.chains[node.output])
        if value is not None:
            self.emitter.replaced[node.output] = value
            return
        for read in node.inputs:
            self._alone(read)
        self.emitter.keep(node)

    def _alone(self, value: Value) -> Value:
        """The value itself, cut out of its pack if it is in one."""
        place = self.plan.places.get(value)
        if place is not None and value not in self.emitter.replaced:
            group, lane = place
            cut = self.emitter.take(self._packs[group], 0, (lane,))
            self.emitter.replaced[value] = self.emitter.reshape(cut, value.type.static_shape)
        return self.emitter.get(value)

    def _source(self, value: Value) -> Hashable:
        """The group that a value is in, else the value itself."""
        place = self.plan.places.get(value)
        return value if place is None else place[0]

    def _pack(self, values: tuple[Value, ...]) -> Value:
        """The pack [n, *shape] of values of one type."""
        if values not in self._memo:
            self._memo[values] = self._made_pack(values)
        return self._memo[values]

    def _made_pack(self, values: tuple[Value, ...]) -> Value:
        shape = values[0].type.static_shape
        if all(value is values[0] for value in values):
            one = self.emitter.reshape(self._alone(values[0]), (1, *shape))
            return self.emitter.expand(one, (len(values), *shape))
        if all(self.graph.constant(value) is not None for value in values):
            return self.emitter.constant(
                values,
                f"{values[0].name}_x{len(values)}",
                lambda: np.stack([self.emitter.array(value) for value in values]),
            )
        runs = [tuple(run) for _, run in groupby(values, self._source)]
        sources = {self._source(value) for value in values}
        if len(runs) <= 2 * len(sources):
            return self._joined([self._part(run) for run in runs], len(values), shape)
        return self._reordered(values, shape)

    def _reordered(self, values: tuple[Value, ...], shape: tuple[int, ...]) -> Value:
        """Everything that is needed joined once, then put in order."""
        distinct: dict[Hashable, list[Value]] = {}
        for value in dict.fromkeys(values):
            distinct.setdefault(self._source(value), []).append(value)
        order = [value for part in distinct.values() for value in part]
        joined = self._joined([self._part(part) for part in distinct.values()], len(order), shape)
        position = {value: i for i, value in enumerate(order)}
        return self.emitter.take(joined, 0, tuple(position[value] for value in values))

    def _part(self, values: Sequence[Value]) -> Value:
        """The pack of values with one source."""
        places = [self.plan.places.get(value) for value in values]
        lanes = tuple(place[1] for place in places if place is not None)
        if lanes and places[0] is not None:
            return self.emitter.take(self._packs[places[0][0]], 0, lanes)
        value = self._alone(values[0])
        one = self.emitter.reshape(value, (1, *value.type.static_shape))
        return self.emitter.expand(one, (len(values), *value.type.static_shape))

    def _joined(self, parts: list[Value], count: int, shape: tuple[int, ...]) -> Value:
        """Packs one behind the other. The first axis of the members takes in the packs' axis: a
        part that is a single value then needs no reshape."""
        if len(parts) == 1:
            return parts[0]
        if shape:
            flat = [(part.type.static_shape[0] * shape[0], *shape[1:]) for part in parts]
            parts = [self.emitter.reshape(p, s) for p, s in zip(parts, flat, strict=True)]
        return self.emitter.reshape(self.emitter.concat(tuple(parts), 0), (count, *shape))

    def _concat(self, node: Node, axis: int) -> Value | None:
        """A concatenation with its packed parts as one part each; None if there are none."""
        runs = [tuple(run) for _, run in groupby(node.inputs, self._concat_source)]
        sources = dict.fromkeys(self._concat_source(value) for value in node.inputs)
        if len(runs) == len(node.inputs) == len(sources):
            return None
        if len(runs) > 2 * len(sources) + 8:
            return self._concat_reordered(node, axis)
        return self.emitter.concat(tuple(self._folded(run, axis) for run in runs), axis)

    def _concat_source(self, value: Value) -> Hashable:
        return (self._source(value), value.type)

    def _concat_reordered(self, node: Node, axis: int) -> Value:
        """The parts by source, then a take of their elements along the axis."""
        distinct: dict[Hashable, dict[Value, None]] = {}
        for value in node.inputs:
            distinct.setdefault(self._concat_source(value), {})[value] = None
        start: dict[Value, int] = {}
        length = 0
        for value in (value for part in distinct.values() for value in part):
            start[value] = length
            length += value.type.static_shape[axis]
        indices = tuple(
            start[value] + i for value in node.inputs for i in range(value.type.static_shape[axis])
        )
        parts = tuple(self._folded(tuple(part), axis) for part in distinct.values())
        return self.emitter.take(self.emitter.concat(parts, axis), axis, indices)

    def _folded(self, values: tuple[Value, ...], axis: int) -> Value:
        """The concatenation of values with one source, as a view of their pack."""
        if len(values) == 1:
            return self._alone(values[0])
        moved = self.emitter.move_axis(self._pack(values), 0, axis)
        sizes = moved.type.static_shape
        merged = sizes[axis] * sizes[axis + 1]
        return self.emitter.reshape(moved, (*sizes[:axis], merged, *sizes[axis + 2 :]))

    def _reduction(self, chain: Chain) -> Value | None:
        """A chain with its packed terms reduced; None if fewer than three come from any pack."""
        result = chain.last.output
        parts: dict[Hashable, list[Value]] = {}
        for i, term in enumerate(chain.terms):
            packed = term in self.plan.places and term.type == result.type
            parts.setdefault(self._source(term) if packed else i, []).append(term)
        if max(map(len, parts.values())) < 3:
            return None
        reduce = Reduce(chain.reduction, (0,), keepdim=False)
        total: Value | None = None
        for terms in parts.values():
            if len(terms) > 2:
                term = self.emitter.add(reduce, self._pack(tuple(terms)), name=result.name)
                total = self._added(chain, total, term)
            else:
                for term in terms:
                    total = self._added(chain, total, self._alone(term))
        return total

    def _added(self, chain: Chain, total: Value | None, term: Value) -> Value:
        if total is None:
            return term
        name, origin = chain.last.output.name, chain.last.origin
        return self.emitter.add(chain.last.op, total, term, name=name, origin=origin)
