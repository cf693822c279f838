"""How a model is called: its parameters, inputs and outputs, in a form that needs no torch."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch.utils import _pytree as pytree

from swath.artifact.manifest import Constant, DictNode, Leaf, ListNode, Parameter, Tree, TupleNode
from swath.frontends.unsupported import Unsupported

InputKind = Literal["rows", "ragged", "offsets", "once"]


@dataclass(frozen=True, slots=True)
class InputLeaf:
    """One tensor among the inputs; graph input number i is leaf number i.

    name     parameter and path: `x`, `x.user_id`, `x[0]`
    dtype    element type as torch names it
    kind     "rows" has a batch axis; "ragged" holds the values that the input `offsets` cuts into
             bags; "offsets" (one more than bags if `include_last_offset`); "once" has no batch axis
    """

    name: str
    dtype: str
    kind: InputKind = "rows"
    offsets: str | None = None
    include_last_offset: bool = False


@dataclass(frozen=True, slots=True)
class OutputLeaf:
    """One tensor among the outputs; graph output number i is leaf number i."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Signature:
    """How a model is called and what it gives back."""

    parameters: tuple[Parameter, ...]
    inputs: tuple[InputLeaf, ...]
    outputs: tuple[OutputLeaf, ...]
    result: Tree


def identifier(name: str) -> str:
    """The name of an input as the text form of graphs takes it: `x[0].id` -> `x.0.id`."""
    text = name.replace("[", ".").replace("]", "")
    return "".join(c if c.isalnum() or c in "._" else "_" for c in text)


@dataclass(slots=True)
class Leaves:
    """Numbers the tensors among the leaves of a nested structure, in order.

    `kinds` tells of each leaf whether it is a tensor (None) or a fixed number, string or None.
    """

    values: Sequence[Constant | None]
    names: list[str] = dataclasses.field(default_factory=list[str])
    _next: int = 0

    def tree(self, spec: pytree.TreeSpec, path: str) -> Tree:
        """The structure of a spec, whose leaves are the next ones."""
        if spec.is_leaf():
            constant = self.values[self._next]
            self._next += 1
            if constant is not None:
                return constant
            self.names.append(path)
            return Leaf(len(self.names) - 1)
        children = spec.children()
        keys = _keys(spec, path)
        if keys is not None:
            items = tuple(
                self.tree(child, f"{path}.{key}" if path else key)
                for key, child in zip(keys, children, strict=True)
            )
            return DictNode(keys, items)
        items = tuple(self.tree(child, f"{path}[{i}]") for i, child in enumerate(children))
        return ListNode(items) if spec.type is list else TupleNode(items)


def _keys(spec: pytree.TreeSpec, path: str) -> tuple[str, ...] | None:
    """The names of the children, None for lists and tuples. Raises Unsupported."""
    kind: Any = spec.type
    context: Any = spec.context
    if kind in (tuple, list) or getattr(kind, "__module__", "") == "torch.return_types":
        return None
    keys = _context_keys(kind, context)
    if keys is None or not all(isinstance(key, str) for key in keys):
        raise Unsupported(
            "SW021",
            f"`{path or 'the result'}` is a {kind.__name__} with "
            + ("keys that aren't strings" if keys is not None else "an unknown structure"),
            "inputs and outputs are tensors in tuples, lists, dicts with string keys, named tuples "
            "and data classes",
            "pass the tensors that it holds",
        )
    return tuple(keys)


def _context_keys(kind: Any, context: Any) -> list[Any] | None:
    # Of a named tuple torch keeps the kind itself as the type or as the context.
    fields = getattr(kind, "_fields", None) or getattr(context, "_fields", None)
    if fields is not None:
        return list(cast("tuple[str, ...]", fields))
    if isinstance(context, list):
        items = cast("list[Any]", context)
        if len(items) == 2 and all(isinstance(item, list) for item in items):
            # A registered data class: the fields that have a value, and those that are None.
            return list(cast("list[str]", items[0]))
        if items and isinstance(items[-1], list) and not isinstance(items[0], str):
            return list(cast("list[Any]", items[-1]))  # defaultdict: [factory, keys]
        return items
    return None


def parameters(
    forward: Callable[..., Any] | None,
    in_spec: pytree.TreeSpec,
    names: Sequence[str],
    leaves: Leaves,
) -> tuple[Parameter, ...]:
    """The parameters of `forward` (or else of these names), with the structure of each."""
    positional, keyword = in_spec.children()
    formal: Mapping[str, inspect.Parameter] = (
        {} if forward is None else inspect.signature(forward).parameters
    )
    order = _positional_names(formal, names, len(positional.children()))
    result: list[Parameter] = []
    for name, spec in zip(order, positional.children(), strict=True):
        result.append(_parameter(name, leaves.tree(spec, name), formal))
    for name, spec in zip(cast("list[str]", keyword.context), keyword.children(), strict=True):
        # What isn't among the parameters of `forward` is taken by its **kwargs.
        taken = bool(formal) and name not in formal
        result.append(_parameter(name, leaves.tree(spec, name), formal, keyword_only=taken))
    return tuple(_in_order(result, formal))


def _positional_names(
    formal: Mapping[str, inspect.Parameter], names: Sequence[str], count: int
) -> list[str]:
    order: list[str] = []
    for name, parameter in formal.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            order += [f"{name}_{i}" for i in range(count - len(order))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            order.append(name)
    if not formal:
        order = list(names)
    return order[:count]


def _parameter(
    name: str,
    structure: Tree,
    formal: Mapping[str, inspect.Parameter],
    *,
    keyword_only: bool = False,
) -> Parameter:
    known = formal.get(name)
    if known is not None:
        keyword_only = known.kind is inspect.Parameter.KEYWORD_ONLY
    fixed = (
        known is not None
        and isinstance(structure, Constant)
        and known.default is not inspect.Parameter.empty
        and known.default == structure.value
    )
    return Parameter(name=name, structure=structure, keyword_only=keyword_only, required=not fixed)


def _in_order(given: list[Parameter], formal: Mapping[str, inspect.Parameter]) -> list[Parameter]:
    """The parameters as `forward` orders them, with those that were left to their defaults."""
    by_name = {parameter.name: parameter for parameter in given}
    result: list[Parameter] = []
    for name, known in formal.items():
        if name in by_name:
            result.append(by_name.pop(name))
        elif isinstance(known.default, bool | int | float | str | None):
            result.append(_parameter(name, Constant(known.default), formal))
        elif known.kind is inspect.Parameter.VAR_POSITIONAL:
            spread = [p for p in by_name if p.startswith(f"{name}_")]
            result += [by_name.pop(p) for p in spread]
    return result + list(by_name.values())
