"""What makes passes short: replaying a graph node by node while rules change what is made.

A rule looks at a node that is about to be made - op, and inputs in the new graph - and returns

    None             nothing: the next rule is asked
    a Value          that value is used instead
    (op, inputs)     this node is made instead, after all rules were asked about it too

Element type and shape must stay. A change that would narrow the row space (a slice of a concat that
gives a constant part, say) is not made, since no op could widen it again.

Rules see producers in the new graph, so one sweep follows a whole chain of rewrites. A rule must
make something smaller or more canonical each time; MOST_STEPS catches one that doesn't.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

import numpy as np

from swath.errors import InternalError, Problem, Where
from swath.graph.ir import Array, Graph, Node, Value
from swath.graph.ops import Concat, Fill
from swath.graph.ops.base import Op
from swath.graph.text import print_name, print_type
from swath.graph.types import DType, Shape, Space, TensorType
from swath.passes.signed_zeros import shown_signed_zeros

MOST_STEPS = 100
# Larger constants are not looked through.
_MOST_COMPARED = 1 << 16

T = TypeVar("T", bound=Op)
Inputs = tuple[Value, ...]
Application = tuple[Op, Inputs]
Made = Value | Application | None
Rule = Callable[["Rewriter", Op, Inputs], Made]


def rewrite(graph: Graph, rules: Sequence[Rule]) -> Graph:
    """The graph with `rules` applied to every node with one result, in order."""
    return Rewriter(graph, rules).run()


class Rewriter:
    """Builds a graph from another one. Values of the old graph that still have the same meaning
    are the same objects in the new one."""

    def __init__(self, graph: Graph, rules: Sequence[Rule] = ()) -> None:
        self.graph = graph
        self.rules = rules
        self.steps = 0
        # The value of the old graph that is being made; new values are named after it.
        self.like = Value("", TensorType(DType.BOOL, ()))
        self._nodes: list[Node] = []
        self._constant_values = list(graph.constant_values)
        self._constants = dict(graph.constants)
        self._producers: dict[Value, Node] = {}
        self._stand_ins: dict[Value, Value] = {}
        self._uses = count_uses(graph)
        self._names = {value.name for value in (*graph.inputs, *graph.constant_values)}
        self._names.update(value.name for node in graph.nodes for value in node.outputs)
        self._counters: dict[str, int] = {}
        self._scalars: dict[Value, float | None] = {}
        self._numbers: dict[tuple[str, DType], Value] = {}
        self._reshaped: dict[tuple[Value, Shape], Value] = {}
        self._part_starts: dict[Value, tuple[int, ...]] = {}

    def run(self) -> Graph:
        """The graph that the rules make."""
        for node in self.graph.nodes:
            inputs = tuple(map(self.value, node.inputs))
            if len(node.outputs) == 1:
                self.like = node.output
                self.replace(node.output, self._make(node.op, inputs, node))
            else:
                self._append(node.op, inputs, node.outputs, node)
        return self.build()

    def build(self) -> Graph:
        """The new graph so far, with the outputs of the old one."""
        return Graph(
            self.graph.inputs,
            tuple(self._constant_values),
            self._constants,
            tuple(self._nodes),
            tuple(map(self.value, self.graph.outputs)),
        )

    def value(self, old: Value) -> Value:
        """What stands for a value of the old graph."""
        return self._stand_ins.get(old, old)

    def replace(self, old: Value, new: Value) -> None:
        """Let `new` stand for `old` from here on."""
        if new is old:
            return
        self._stand_ins[old] = new
        self._uses[new] = self._uses.get(new, 0) + self._uses.get(old, 0) - 1

    def add(self, op: Op, *inputs: Value) -> Value:
        """Make an intermediate value on the way to the node at hand."""
        return self._make(op, inputs, None)

    def constant(self, array: Array, name: str = "constant") -> Value:
        """A new constant for the node at hand."""
        array = np.asarray(array)
        value = Value(
            self._unique(f"{self.like.name}.{name}"),
            TensorType(DType.of(array.dtype), array.shape, Space.ONCE),
            self.like.origin,
        )
        self._constant_values.append(value)
        self._constants[value.name] = array
        return value

    def number(self, number: float, dtype: DType) -> Value:
        """A constant without axes; one for each number and type."""
        key = (repr(number), dtype)
        if key not in self._numbers:
            self._numbers[key] = self.constant(np.asarray(number, dtype=dtype.numpy))
        return self._numbers[key]

    def reshaped(self, value: Value, shape: Shape) -> Value:
        """A constant in another shape; one for each constant and shape."""
        key = (value, shape)
        if key not in self._reshaped:
            sizes = tuple(dim for dim in shape if isinstance(dim, int))
            self._reshaped[key] = self.constant(self._constants[value.name].reshape(sizes))
        return self._reshaped[key]

    def array(self, value: Value) -> Array | None:
        """The array of a constant, None for any other value."""
        return self._constants.get(value.name)

    def producer(self, value: Value) -> Node | None:
        """The new node that makes a value, None for inputs and constants."""
        return self._producers.get(value)

    def made_by(self, value: Value, op_type: type[T]) -> tuple[T, Inputs] | None:
        """Op and inputs of the node that makes `value` if the op is an `op_type`."""
        node = self._producers.get(value)
        if node is None or not isinstance(node.op, op_type):
            return None
        return node.op, node.inputs

    def uses(self, value: Value) -> int:
        """How often nodes and outputs read a value, as far as it is known during the sweep."""
        return self._uses.get(value, 1)

    def scalar(self, value: Value) -> float | None:
        """What every element of a constant or fill is, None for any other value."""
        if value not in self._scalars:
            self._scalars[value] = self._find_scalar(value)
        return self._scalars[value]

    def part_starts(self, value: Value) -> tuple[int, ...]:
        """Where along its axis each part of a concat of known sizes begins, and the end."""
        if value not in self._part_starts:
            op, parts = self._producers[value].op, self._producers[value].inputs
            axis = op.axis if isinstance(op, Concat) else 0
            sizes = (part.type.static_shape[axis] for part in parts)
            self._part_starts[value] = tuple(accumulate(sizes, initial=0))
        return self._part_starts[value]

    @cached_property
    def readers(self) -> dict[Value, list[Node]]:
        """The nodes of the old graph that read each value."""
        return self.graph.users()

    @cached_property
    def shown_signed_zeros(self) -> set[Value]:
        """The values of the old graph of which the sign of a zero matters."""
        return shown_signed_zeros(self.graph)

    def _find_scalar(self, value: Value) -> float | None:
        fill = self.made_by(value, Fill)
        if fill is not None:
            return float(fill[0].value)
        array = self.array(value)
        if array is None or not 0 < array.size <= _MOST_COMPARED:
            return None
        first = array.reshape(-1)[:1]
        number = float(first[0])
        # A float holds no larger integers exactly. Bytes tell -0.0 from 0.0.
        exact = array.dtype.kind == "f" or abs(number) < 2**53
        same = array.tobytes() == first.tobytes() * array.size
        return number if exact and same else None

    def _make(self, op: Op, inputs: Inputs, node: Node | None) -> Value:
        for _ in range(MOST_STEPS):
            changed = self._ask(op, inputs)
            if changed is None:
                return self._emit(op, inputs, node)
            if isinstance(changed, Value):
                return changed
            op, inputs = changed
        raise InternalError(
            Problem(
                "SW904",
                f"rules rewrote {print_name(self.like)} {MOST_STEPS} times without an end",
                "each rule must make a node smaller or more canonical",
                f"pass developer: two rules undo each other; the last node is {op}",
                Where(module=str(self.like.origin or "") or None),
            )
        )

    def _ask(self, op: Op, inputs: Inputs) -> Made:
        for rule in self.rules:
            self.steps += 1
            changed = rule(self, op, inputs)
            if changed is not None and self._keeps_type(op, inputs, changed, rule):
                return changed
        return None

    def _keeps_type(self, op: Op, inputs: Inputs, changed: Value | Application, rule: Rule) -> bool:
        before = _result_type(op, inputs)
        after = changed.type if isinstance(changed, Value) else _result_type(*changed)
        if before.with_space(None) != after.with_space(None):
            raise _another_type(op, before, after, rule)
        return before.space is after.space

    def _emit(self, op: Op, inputs: Inputs, node: Node | None) -> Value:
        if node is not None and node.op is op:
            self._append(op, inputs, node.outputs, node)
            return node.output
        if node is not None:
            result = node.output
        else:
            name = self._unique(f"{self.like.name}.{op.name}")
            result = Value(name, _result_type(op, inputs), self.like.origin)
        self._append(op, inputs, (result,), None)
        return result

    def _append(self, op: Op, inputs: Inputs, outputs: Inputs, node: Node | None) -> None:
        same = node is not None and inputs == node.inputs
        made = node if node is not None and same else Node(op, inputs, outputs)
        self._nodes.append(made)
        self._producers.update((value, made) for value in outputs)

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self._names:
            self._counters[name] = self._counters.get(name, 0) + 1
            unique = f"{name}_{self._counters[name]}"
        self._names.add(unique)
        return unique


def is_static(*values: Value) -> bool:
    """True if the sizes of all values are known."""
    return all(isinstance(dim, int) for value in values for dim in value.type.shape)


def types(values: Inputs) -> tuple[TensorType, ...]:
    """The types of values."""
    return tuple(value.type for value in values)


def count_uses(graph: Graph) -> dict[Value, int]:
    """How often nodes and outputs read each value."""
    counts: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.inputs:
            counts[value] = counts.get(value, 0) + 1
    for value in graph.outputs:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _result_type(op: Op, inputs: Inputs) -> TensorType:
    (result,) = op.result_types(types(inputs))
    return result if inputs else result.with_space(Space.ONCE)


def _another_type(op: Op, before: TensorType, after: TensorType, rule: Rule) -> InternalError:
    name = getattr(rule, "__qualname__", str(rule))
    return InternalError(
        Problem(
            "SW905",
            f"rule `{name}` made {print_type(after)} of {op}, which gives {print_type(before)}",
            "a value can only be replaced by one of the same type",
            "pass developer: let the rule check the types before it matches",
            Where(module=name),
        )
    )
