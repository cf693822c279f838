"""Whether a model would compile: every step but the C++ compiler, and all problems together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from swath.errors import Problem, UnsupportedModel, Where
from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import Embedding, EmbeddingBag, LookupGroup
from swath.graph.text import print_type
from swath.options import Input, Options
from swath.passes.pipeline import run
from swath.report.bisect import import_named
from swath.report.models import NamedModel
from swath.rows.debatch import debatch
from swath.stages.lowering import LOWERINGS

if TYPE_CHECKING:
    from swath.frontends.signature import InputLeaf, OutputLeaf


class Checked(msgspec.Struct, frozen=True):
    """A model that compiles: what it takes and gives (name to type, B is the batch), operations of
    the graph as imported and behind the passes, bytes of embedding tables and other weights."""

    model: str
    inputs: dict[str, str]
    outputs: dict[str, str]
    operations_imported: int
    operations: int
    table_bytes: int
    weight_bytes: int


def check_model(named: NamedModel, declared: Mapping[str, Input], options: Options) -> Checked:
    """Runs every step up to the kernels. Raises UnsupportedModel with every problem."""
    imported = import_named(named, declared)
    graph, _ = run(debatch(imported.graph).graph, options)
    missing = [node for node in graph.nodes if type(node.op) not in LOWERINGS]
    if missing:
        raise UnsupportedModel(_no_kernel(node) for node in missing)
    tables = _tables(graph)
    sizes = {name: array.nbytes for name, array in graph.constants.items()}
    signature = imported.signature
    return Checked(
        named.name,
        _types(signature.inputs, imported.graph.inputs),
        _types(signature.outputs, imported.graph.outputs),
        len(imported.graph.nodes),
        len(graph.nodes),
        sum(size for name, size in sizes.items() if name in tables),
        sum(size for name, size in sizes.items() if name not in tables),
    )


def _types(leaves: Sequence[InputLeaf | OutputLeaf], values: Sequence[Value]) -> dict[str, str]:
    pairs = zip(leaves, values, strict=True)
    return {leaf.name: print_type(value.type) for leaf, value in pairs}


def _tables(graph: Graph) -> set[str]:
    """Names of the constants that are looked up."""
    names: set[str] = set()
    for node in graph.nodes:
        if isinstance(node.op, Embedding | EmbeddingBag):
            names.add(node.inputs[0].name)
        elif isinstance(node.op, LookupGroup):
            names.update(value.name for value in node.inputs[1:])
    return names & graph.constants.keys()


def _no_kernel(node: Node) -> Problem:
    origin = node.origin
    return Problem(
        "SW930",
        f"there is no kernel for `{node.op.name}`",
        "the operation is known, but nothing computes it yet",
        "write this step with other operations, and report the model",
        Where(module=str(origin) or None) if origin is not None else Where(),
    )
