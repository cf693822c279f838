"""Walks an exported program and builds the graph.

Each live node is handed to its rule (see rules/). What a rule refuses becomes a problem, and the
walk goes on with a stand-in of the type that torch states, so that one import tells every problem.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import fx
from torch.export.graph_signature import InputKind, InputSpec

from swath.errors import Problem
from swath.frontends import aliases
from swath.frontends.aliases import Tensor
from swath.frontends.context import Context
from swath.frontends.fold import Opaque, any_of, folded
from swath.frontends.liveness import is_in_place, live_nodes, op_key
from swath.frontends.origins import Origins
from swath.frontends.promotion import HALF_TYPES, graph_dtype
from swath.frontends.refusals import missing_rule, no_half_arithmetic, rule_defect
from swath.frontends.rules import RULES
from swath.frontends.rules.inplace import RESHAPING, pure_name
from swath.frontends.rules.views import VIEWS
from swath.frontends.signature import Signature
from swath.frontends.sizes import Sizes
from swath.frontends.unsupported import Unsupported, unsupported_form
from swath.frontends.weights import Weights
from swath.graph.ir import Graph, Origin
from swath.graph.ops.base import ShapeError
from swath.graph.types import TensorType

# Ops that only check; their checks are the runtime's or can't fail here.
_CHECKS = (
    "aten._assert_tensor_metadata.", "aten._assert_scalar.", "aten._assert_async.",
    "aten.sym_constrain_range", "aten._assert_", "torch.sym_",
)  # fmt: skip
# Ops that move elements and don't compute with them: halves may go through.
_MOVING = VIEWS | {
    "aten.embedding.default", "aten.cat.default", "aten.stack.default", "aten.clone.default",
    "aten._to_copy.default", "aten.index_select.default", "aten.gather.default",
    "aten.index.Tensor", "aten.lift_fresh_copy.default", "aten.repeat.default",
    "aten._unsafe_view.default", "aten.where.self",
}  # fmt: skip
_MAYBE_COPIES = {
    "aten.reshape.default",
    "aten.flatten.using_ints",
    "aten.reshape_as.default",
    "aten.contiguous.default",
    "aten.ravel.default",
}


_SIZED_BY_CONSTANTS = {
    "aten.index.Tensor", "aten.repeat_interleave.self_Tensor", "aten.masked_select.default",
    "aten.nonzero.default", "aten.repeat_interleave.Tensor",
}  # fmt: skip
_NUMBERS = {"aten.item.default", "aten._local_scalar_dense.default"}


class Broken:
    """Stands for what can't be imported and has no type of the graph."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A model as a graph whose tensors carry the batch axis, and how the model is called."""

    graph: Graph
    signature: Signature


@dataclass(slots=True)
class Importer:
    """The state of one import: what each node of the program became."""

    context: Context
    sizes: Sizes
    origins: Origins = field(default_factory=Origins)
    problems: list[Problem] = field(default_factory=list[Problem])
    environment: dict[fx.Node, Any] = field(default_factory=dict[fx.Node, Any])
    _has_writes: bool = False

    _weights: dict[fx.Node, tuple[InputSpec, Weights]] = field(
        default_factory=dict[fx.Node, "tuple[InputSpec, Weights]"]
    )

    def bind_weight(self, node: fx.Node, spec: InputSpec, weights: Weights) -> None:
        """Let a placeholder stand for a stored tensor, which is read when it is first used."""
        self._weights[node] = (spec, weights)

    def run(self, graph: fx.Graph) -> None:
        """Import every live node; placeholders must be bound already."""
        live = live_nodes(graph)
        self._has_writes = any(is_in_place(op_key(node.target)) for node in live)
        for node in graph.nodes:
            if node in self._weights and node in live:
                self.environment[node] = self._stored(node)
            elif node in live and node.op == "call_function":
                self.environment[node] = self._import(node)

    def _stored(self, node: fx.Node) -> Any:
        spec, weights = self._weights[node]
        tensor = weights.stored(spec)
        if tensor is not None and tensor.layout is not torch.strided:
            return Opaque(tensor)
        try:
            return aliases.fresh(weights.constant(spec), _state_name(spec))
        except Unsupported as refusal:
            self.problems.append(refusal.at_model())
            return self._stand_in(node.meta.get("val"))

    # ---- one node

    def _import(self, node: fx.Node) -> Any:
        symbolic = node.meta.get("val")
        key = op_key(node.target)
        if isinstance(symbolic, torch.SymInt | torch.SymBool | torch.SymFloat | int | float):
            return self._symbolic(node, key, symbolic)
        if node.target is operator.getitem:
            return self._item(node)
        if key.startswith(_CHECKS):
            return None
        context = self.context
        context.origin = self.origins.of(node.meta)
        context.op = key
        context.name = _value_name(context.origin, key)
        try:
            if key in _SIZED_BY_CONSTANTS:
                return self._apply_unsized(node, key, symbolic)
            context.results = tuple(self._type(value) for value in _leaves(symbolic))
            return self._apply(node, key)
        except Unsupported as refusal:
            self.problems.append(refusal.at(context.origin))
            return self._stand_in(symbolic)

    def _apply_unsized(self, node: fx.Node, key: str, symbolic: Any) -> Any:
        """An op whose output size is that of its data; if the data is constant, so is the size."""
        self.context.results = (None,) * len(_leaves(symbolic))
        result = self._apply(node, key)
        for made, stated in zip(_leaves(result), _leaves(symbolic), strict=True):
            if isinstance(made, Tensor):
                self.sizes.bind(stated.shape, made.value.type.shape)
                self.context.results = (self._type(stated),)
                self._check_result(made.value)
        return result

    def _apply(self, node: fx.Node, key: str) -> Any:
        arguments = [self._argument(argument) for argument in node.args]
        keywords = {name: self._argument(argument) for name, argument in node.kwargs.items()}
        if any_of(Broken, arguments) or any_of(Broken, list(keywords.values())):
            if key not in RULES and not is_in_place(key):
                raise missing_rule(key)
            return Broken()
        if is_in_place(key):
            return self._apply_in_place(node, key, arguments, keywords)
        rule = RULES.get(key)
        refusal = missing_rule(key)
        if rule is not None and not any_of(Opaque, arguments):
            try:
                self._check_half(node, key)
                return self._tensors(node, key, self._call(rule, arguments, keywords))
            except Unsupported as reason:
                refusal = reason
        result = folded(self.context, node.target, key, arguments, keywords)
        if result is None:
            raise refusal
        return result

    def _call(
        self, rule: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Any:
        values = [self._value(argument) for argument in arguments]
        named = {name: self._value(argument) for name, argument in keywords.items()}
        try:
            result = rule(self.context, *values, **named)
        except (ShapeError, TypeError) as error:
            raise unsupported_form(self.context.op, f"these arguments ({error})") from error
        self._check_result(result)
        return result

    def _tensors(self, node: fx.Node, key: str, result: Any) -> Any:
        """The results of a rule as tensors, sharing memory where torch's do."""
        if isinstance(result, list | tuple):
            values = cast("Sequence[Any]", result)
            return [self._tensors(node, key, value) for value in values]
        if result is None:
            return Broken()
        if self._has_writes and key in VIEWS and not self._copies(node, key):
            source = self.environment.get(cast("fx.Node", node.args[0]))
            if isinstance(source, Tensor):
                return aliases.view(self.context, source, result)
        return aliases.fresh(result)

    def _copies(self, node: fx.Node, key: str) -> bool:
        """True if torch copied, where that depends on the strides."""
        if key not in _MAYBE_COPIES:
            return False
        source = cast("fx.Node", node.args[0]).meta["val"]
        if key == "aten.contiguous.default":
            return not source.is_contiguous()
        return not _is_viewable(source, node.meta["val"])

    def _apply_in_place(
        self, node: fx.Node, key: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        target = arguments[0]
        rule = RULES.get(pure_name(key))
        if rule is None or not isinstance(target, Tensor):
            raise missing_rule(key)
        result = self._call(rule, arguments, keywords)
        if key in RESHAPING:
            seen = aliases.view(self.context, target, result)
            self.environment[cast("fx.Node", node.args[0])] = seen
            return seen
        current = target.value.type
        typed = self.context.cast(result, current.dtype)
        return aliases.write(self.context, target, self.context.expand(typed, current.shape))

    def _check_result(self, result: Any) -> None:
        """Compare with what torch states: a difference is a defect of a rule."""
        for value, expected in zip(_leaves(result), self.context.results, strict=False):
            if value is not None and expected is not None and value.type != expected:
                raise rule_defect(self.context.op, value.type, expected, self.context.origin)

    def _check_half(self, node: fx.Node, key: str) -> None:
        for value in _leaves(node.meta.get("val")):
            if (
                isinstance(value, torch.Tensor)
                and value.dtype in HALF_TYPES
                and (key not in _MOVING or self._narrows(node, value))
            ):
                raise no_half_arithmetic(key, str(value.dtype))

    def _narrows(self, node: fx.Node, value: torch.Tensor) -> bool:
        """True if a cast loses digits."""
        sources = [source.meta.get("val") for source in node.all_input_nodes]
        return any(
            isinstance(source, torch.Tensor)
            and source.is_floating_point()
            and source.dtype != value.dtype
            for source in sources
        )

    # ---- arguments and results

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            return self.environment.get(argument, Broken())
        if isinstance(argument, list | tuple):
            items = cast("Sequence[Any]", argument)
            return [self._argument(item) for item in items]
        return argument

    def _value(self, argument: Any) -> Any:
        """What rules get: values instead of tensors."""
        if isinstance(argument, Tensor):
            return aliases.read(self.context, argument)
        if isinstance(argument, list):
            return [self._value(item) for item in cast("list[Any]", argument)]
        return argument

    def _symbolic(self, node: fx.Node, key: str, symbolic: Any) -> Any:
        """A size, or a number computed from sizes."""
        if isinstance(symbolic, bool | int | float):
            return symbolic
        self.context.origin = self.origins.of(node.meta)
        try:
            if key in _NUMBERS:
                return self._number(node, key, symbolic)
            if isinstance(symbolic, torch.SymInt):
                return self.sizes.dim(symbolic)
            return self.sizes.number(symbolic)
        except Unsupported as refusal:
            return self._late_refusal(node, refusal)

    def _number(self, node: fx.Node, key: str, symbolic: Any) -> Any:
        """A tensor as a Python number: only if it depends on no input. Raises Unsupported."""
        tensor = self.environment[cast("fx.Node", node.args[0])]
        known = None
        if isinstance(tensor, Tensor):
            known = self.context.known_scalar(aliases.read(self.context, tensor))
        if known is None:
            raise missing_rule(key)
        self.sizes.symbols[symbolic.node.expr] = known
        return known

    def _late_refusal(self, node: fx.Node, refusal: Unsupported) -> Any:
        # Only a size that something but a check uses matters.
        users = [user for user in node.users if not op_key(user.target).startswith(_CHECKS)]
        if any(not isinstance(user.meta.get("val"), torch.SymBool) for user in users):
            self.problems.append(refusal.at(self.context.origin))
        return Broken()

    def _item(self, node: fx.Node) -> Any:
        source = self.environment[cast("fx.Node", node.args[0])]
        return source if isinstance(source, Broken) else source[node.args[1]]

    def _type(self, value: Any) -> TensorType | None:
        if not isinstance(value, torch.Tensor):
            return None
        return TensorType(graph_dtype(value.dtype), self.sizes.shape(value.shape))

    def _stand_in(self, symbolic: Any) -> Any:
        """Something of the stated type to go on with."""
        if isinstance(symbolic, list | tuple):
            return [self._stand_in(value) for value in cast("Sequence[Any]", symbolic)]
        try:
            type = self._type(symbolic)
        except Unsupported:
            type = None
        if type is None:
            return Broken()
        return aliases.fresh(self.context.builder.input("missing", type, self.context.origin))


def _state_name(spec: InputSpec) -> str:
    """The name of a parameter or buffer; lifted constants are made anew by every call."""
    return "" if spec.kind is InputKind.CONSTANT_TENSOR else spec.target or ""


def _leaves(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)


def _is_viewable(source: torch.Tensor, result: torch.Tensor) -> bool:
    """True if torch would make `result` a view of `source`, by the strides that it states."""
    if source.is_contiguous():
        return True
    hints = [
        [_hint(size) for size in sizes] for sizes in (source.shape, source.stride(), result.shape)
    ]
    try:
        torch.empty_strided(hints[0], hints[1], device="meta").view(hints[2])
    except RuntimeError:
        return False
    return True


def _hint(size: Any) -> int:
    return size if isinstance(size, int) else int(size.node.hint)


def _value_name(origin: Origin, key: str) -> str:
    """A readable name: module path and op."""
    op = key.split(".")[1] if key.startswith("aten.") else key.rsplit(".", 1)[-1]
    path = origin.module.removeprefix("model").strip(".")
    name = op.strip("_")
    return f"{path}.{name}" if path else name
