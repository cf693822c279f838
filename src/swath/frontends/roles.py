"""What the symbolic sizes of a program's inputs mean: the batch, or the length of ragged values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import fx

from swath.frontends.liveness import op_key
from swath.frontends.signature import InputKind, identifier
from swath.frontends.sizes import is_fixed
from swath.frontends.unsupported import Unsupported
from swath.graph.types import BatchSize, Dim, RaggedSize
from swath.options import Input

_BAGS = ("aten.embedding_bag.", "aten._embedding_bag.", "aten._embedding_bag_forward_only.")


@dataclass(frozen=True, slots=True)
class Bag:
    """A use of embedding_bag: the placeholders that its arguments come from, where there is one."""

    values: fx.Node | None
    offsets: fx.Node | None
    weights: fx.Node | None
    include_last: bool


@dataclass(slots=True)
class Roles:
    """The meaning of each size symbol, and the kind of each input."""

    symbols: dict[Any, Dim] = field(default_factory=dict[Any, Dim])
    kinds: dict[str, InputKind] = field(default_factory=dict[str, InputKind])
    offsets: dict[str, str] = field(default_factory=dict[str, str])
    include_last: dict[str, bool] = field(default_factory=dict[str, bool])


def find_roles(
    graph: fx.Graph,
    inputs: Mapping[str, fx.Node],
    declared: Mapping[str, Input],
    *,
    batch_needed: bool = True,
) -> Roles:
    """The roles of all symbols in the shapes of `inputs` (by name). Raises Unsupported."""
    roles = Roles()
    names = {node: name for name, node in inputs.items()}
    for bag in find_bags(graph):
        _assign_bag(roles, bag, names)
    for name, declaration in declared.items():
        if declaration.ragged is not None:
            _declare(roles, inputs, name, declaration.ragged)
    _assign_batch(roles, inputs)
    _refuse_others(roles, inputs)
    if batch_needed and not any(isinstance(d, BatchSize) for d in roles.symbols.values()):
        raise no_batch()
    for name, node in inputs.items():
        if name not in roles.kinds:
            shape = node.meta["val"].shape
            fixed = all(is_fixed(size) for size in shape)
            roles.kinds[name] = "once" if fixed else "rows"
    return roles


def find_bags(graph: fx.Graph) -> list[Bag]:
    """All uses of embedding_bag on 1-d values."""
    bags: list[Bag] = []
    for node in graph.nodes:
        if node.op == "call_function" and op_key(node.target).startswith(_BAGS):
            arguments = _bag_arguments(node)
            bags.append(
                Bag(
                    _source(arguments.get("indices")),
                    _source(arguments.get("offsets")),
                    _source(arguments.get("per_sample_weights")),
                    bool(arguments.get("include_last_offset")),
                )
            )
    return bags


def values_tied_to_bags(graph: fx.Graph) -> bool:
    """True if ragged values were traced as having one element a bag."""
    for bag in find_bags(graph):
        if bag.values is not None and bag.offsets is not None:
            length = leading_symbol(bag.values)
            if length is not None and length == leading_symbol(bag.offsets):
                return True
    return False


def _bag_arguments(node: fx.Node) -> dict[str, Any]:
    names = [argument.name for argument in cast("Any", node.target)._schema.arguments]
    return {**dict(zip(names, node.args, strict=False)), **node.kwargs}


def _source(node: Any) -> fx.Node | None:
    """The placeholder that a 1-d tensor is, casts and the like aside."""
    while isinstance(node, fx.Node) and node.op == "call_function":
        shape = node.meta["val"].shape
        before = [
            source
            for source in node.all_input_nodes
            if isinstance(source.meta.get("val"), torch.Tensor)
            and source.meta["val"].shape == shape
        ]
        node = before[0] if before else None
    return node if isinstance(node, fx.Node) and node.op == "placeholder" else None


def leading_symbol(node: fx.Node) -> Any | None:
    """The symbol that the length of a 1-d tensor is; None if it is fixed or something else."""
    shape = node.meta["val"].shape
    if len(shape) != 1 or isinstance(shape[0], int):
        return None
    expression = shape[0].node.expr
    return expression if expression.is_Symbol else None


def _assign_bag(roles: Roles, bag: Bag, names: Mapping[fx.Node, str]) -> None:
    if bag.values is None or bag.offsets is None:
        return
    if bag.values not in names or bag.offsets not in names:
        return
    values, offsets = names[bag.values], names[bag.offsets]
    length = leading_symbol(bag.values)
    if length is None:
        return
    size = RaggedSize(identifier(values))
    roles.symbols.setdefault(length, size)
    _set_ragged(roles, values, offsets)
    roles.include_last[offsets] = bag.include_last
    if bag.weights is not None and bag.weights in names:
        weights = leading_symbol(bag.weights)
        if weights is not None:
            roles.symbols.setdefault(weights, roles.symbols[length])
        _set_ragged(roles, names[bag.weights], offsets)
    _assign_offsets(roles, bag.offsets, bag.include_last)


def _assign_offsets(roles: Roles, node: fx.Node, include_last: bool) -> None:
    bags = leading_symbol(node)
    if bags is not None:
        roles.symbols.setdefault(bags, BatchSize(1, int(include_last)))


def _set_ragged(roles: Roles, values: str, offsets: str) -> None:
    roles.kinds[values] = "ragged"
    roles.offsets[values] = offsets
    roles.kinds[offsets] = "offsets"


def _declare(roles: Roles, inputs: Mapping[str, fx.Node], values: str, offsets: str) -> None:
    for name in (values, offsets):
        if name not in inputs:
            raise Unsupported(
                "SW002",
                f"there is no input named {name!r}",
                f"the inputs of the model are {', '.join(inputs)}",
                "name ragged inputs and their offsets as they are called in forward",
            )
    length = leading_symbol(inputs[values])
    if length is not None:
        roles.symbols.setdefault(length, RaggedSize(identifier(values)))
    _set_ragged(roles, values, offsets)


def _assign_batch(roles: Roles, inputs: Mapping[str, fx.Node]) -> None:
    """Leading axes are the batch; plain symbols first, then expressions of one symbol."""
    expressions = _open_expressions(roles, inputs, leading=True)
    if not expressions and not any(isinstance(dim, BatchSize) for dim in roles.symbols.values()):
        expressions = _open_expressions(roles, inputs, leading=False)
    plain = [(name, size) for name, size in expressions if size.node.expr.is_Symbol]
    hints = {size.node.hint for _, size in plain}
    if len(hints) > 1:
        raise several_sizes(plain)
    for _, size in plain:
        roles.symbols[size.node.expr] = BatchSize(1)
    for _, size in expressions:
        _assign_expression(roles, size.node.expr)


def _open_expressions(roles: Roles, inputs: Mapping[str, fx.Node], leading: bool) -> list[Any]:
    result: list[Any] = []
    for name, node in inputs.items():
        shape = node.meta["val"].shape
        for axis, size in enumerate(shape):
            if isinstance(size, int) or (axis > 0) == leading:
                continue
            if any(symbol not in roles.symbols for symbol in size.node.expr.free_symbols):
                result.append((name, size))
    return result


def _assign_expression(roles: Roles, expression: Any) -> None:
    open_symbols = [s for s in expression.free_symbols if s not in roles.symbols]
    if len(open_symbols) != 1:
        return
    (symbol,) = open_symbols
    offset = expression - symbol
    if offset.is_Integer and int(offset) in (-1, 0):
        # symbol - 1 rows: the symbol counts the offsets of bags, the last one included.
        roles.symbols[symbol] = BatchSize(1, -int(offset))
    elif (expression / symbol).is_Integer:
        roles.symbols[symbol] = BatchSize(1)


def _refuse_others(roles: Roles, inputs: Mapping[str, fx.Node]) -> None:
    others = [
        (name, size)
        for leading in (True, False)
        for name, size in _open_expressions(roles, inputs, leading)
    ]
    if others:
        raise several_sizes(others)


def no_batch() -> Unsupported:
    """All inputs have fixed sizes."""
    return Unsupported(
        "SW019",
        "no input has a batch axis",
        "the program was exported for the sizes of its example alone",
        "export it with a free batch: torch.export.export(model, args, dynamic_shapes=({0: "
        "torch.export.Dim.DYNAMIC},)), or compile the nn.Module itself",
    )


def several_sizes(sizes: Sequence[tuple[str, Any]]) -> Unsupported:
    """Axes whose sizes vary on their own."""
    text = ", ".join(f"{name} ({size})" for name, size in sizes)
    return Unsupported(
        "SW015",
        f"inputs have axes that vary independently of the batch: {text}",
        "one size may vary from call to call, the batch (and the values of bags given by offsets)",
        "pad sequences to one length; declare the values of bags with inputs={'ids': "
        "Input(ragged='offsets')}",
    )
