"""Checks that a graph is well formed. In tests it runs after every pass.

1  every value is defined once, before it is used; names are unique
2  every constant has an array of its type, and no array is left over
3  the types of results are those that the op infers, row space included
4  in row form (every value has a row space) constants are @once and no size depends on the batch;
   before debatching no value has a row space
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swath.errors import InternalError, Problem, Where
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops.base import Op
from swath.graph.text import print_name, print_node, print_type
from swath.graph.types import BatchSize, Space, TensorType

_SHOWN = 10


def verify(graph: Graph, after: str) -> None:
    """Raise InternalError if the graph is not well formed; `after` names the pass that made it."""
    problems = tuple(violations(graph))
    if not problems:
        return
    rest = len(problems) - _SHOWN
    lines = [*problems[:_SHOWN], *([f"and {rest} more"] if rest > 0 else [])]
    raise InternalError(
        Problem(
            "SW906",
            f"`{after}` made a graph that is not well formed:\n          "
            + "\n          ".join(lines),
            "the steps behind it rely on the rules in swath/graph/verifier.py",
            f"pass developer: correct `{after}`; each line above names the node in its result",
            Where(module=after),
        )
    )


def violations(graph: Graph) -> Iterator[str]:
    """Every rule that the graph breaks, in words."""
    yield from _definitions(graph)
    yield from _constants(graph)
    row_form = any(value.type.space for value in _values(graph))
    for node in graph.nodes:
        yield from _types(node, row_form)
    yield from _spaces(graph) if row_form else ()


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    yield from graph.constant_values
    for node in graph.nodes:
        yield from node.outputs


def _definitions(graph: Graph) -> Iterator[str]:
    names: set[str] = set()
    defined: set[Value] = set()

    def define(values: Iterable[Value]) -> Iterator[str]:
        for value in values:
            if value in defined:
                yield f"{print_name(value)} is defined twice"
            elif value.name in names:
                yield f"two values have the name {print_name(value)}"
            names.add(value.name)
            defined.add(value)

    yield from define((*graph.inputs, *graph.constant_values))
    for node in graph.nodes:
        for value in node.inputs:
            if value not in defined:
                yield f"{print_name(value)} is used before it is defined in: {print_node(node)}"
        yield from define(node.outputs)
    for value in graph.outputs:
        if value not in defined:
            yield f"the graph returns {print_name(value)}, which is not defined"


def _constants(graph: Graph) -> Iterator[str]:
    for value in graph.constant_values:
        array = graph.constants.get(value.name)
        if array is None:
            yield f"constant {print_name(value)} has no array"
        elif (array.shape, array.dtype) != (value.type.shape, value.type.dtype.numpy):
            found = f"{array.dtype}{list(array.shape)}"
            yield f"constant {print_name(value)} is {print_type(value.type)}, its array {found}"
    known = {value.name for value in graph.constant_values}
    for name in graph.constants:
        if name not in known:
            yield f"there is an array for {name!r}, which is no constant"


def _types(node: Node, row_form: bool) -> Iterator[str]:
    given = tuple(value.type for value in node.outputs)
    try:
        inferred = node.op.result_types(tuple(value.type for value in node.inputs))
    except ValueError as error:
        yield f"{error}: {print_node(node)}"
        return
    if row_form and not node.inputs:
        inferred = tuple(type_.with_space(Space.ONCE) for type_ in inferred)
    if inferred != given:
        texts = ", ".join(map(print_type, inferred))
        yield f"the op infers {texts}: {print_node(node)}"


def _spaces(graph: Graph) -> Iterator[str]:
    for value in _values(graph):
        if value.type.space is None:
            yield f"{print_name(value)} has no row space, others have"
        if _has_batch(value.type):
            yield f"{print_name(value)}: {print_type(value.type)} depends on the batch"
    for value in graph.constant_values:
        if value.type.space is not Space.ONCE:
            yield f"constant {print_name(value)} is not @once"
    for node in graph.nodes:
        if _mentions_batch(node.op):
            yield f"an attribute depends on the batch: {print_node(node)}"


def _has_batch(type_: TensorType) -> bool:
    return any(isinstance(dim, BatchSize) for dim in type_.shape)


def _mentions_batch(op: Op) -> bool:
    return op.bind(1) is not op
