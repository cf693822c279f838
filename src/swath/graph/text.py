"""The text form of a graph; it parses back to an equal graph.

    input %x: f32[1,13] @candidate
    constant %scale: f32[] @once = 0.5
    constant %weight: f32[8,13] @once
    %h: f32[1,8] @candidate = linear(%x, %weight)  # from deep.0 model.py:12 "h = self.deep(x)"
    %top: f32[1,2] @candidate, %at: i64[1,2] @candidate = topk(%h, k=2, axis=1, largest=true)
    return %top, %at

One statement a line. Attributes come after the inputs, those at their default are left out. An
attribute is an int, float, true, false, none, "string", element type (f32), size (B, 26B, B+1,
~values) or [list]. A name of other characters than letters, digits, `_` and `.` is quoted:
%"a name". A comment `# from module file:line "source"` is the origin; other comments are skipped.

The arrays of constants are handed to `parse_graph` separately, but for those with an `= value`
(a number, or a flat row-major list); `print_graph` writes it for up to LITERAL_ELEMENTS elements.
The type of a result may be left out when writing by hand; it is inferred then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any, cast

from swath.graph.ir import Array, Graph, Node, Origin, Value
from swath.graph.ops.base import Op
from swath.graph.types import BatchSize, Dim, DType, RaggedSize, Space, TensorType

LITERAL_ELEMENTS = 4
_PLAIN_NAME = re.compile(r"[\w.]+")
_PLAIN_PLACE = re.compile(r"[\w./\\<>*-]+")


def print_graph(graph: Graph, *, origins: bool = True) -> str:
    """The text form; without the origin comments if `origins` is false."""
    lines = [f"input {_typed(value)}{_from(value, origins)}" for value in graph.inputs]
    lines += [_constant(graph, value) + _from(value, origins) for value in graph.constant_values]
    lines += [print_node(node) + _from(node.outputs[0], origins) for node in graph.nodes]
    lines.append(f"return {', '.join(map(print_name, graph.outputs))}".rstrip())
    return "\n".join(lines) + "\n"


def print_node(node: Node) -> str:
    """A node's line, without its origin."""
    arguments = [print_name(value) for value in node.inputs]
    arguments += [f"{name}={print_attribute(value)}" for name, value in _attributes(node.op)]
    results = ", ".join(map(_typed, node.outputs))
    return f"{results} = {node.op.name}({', '.join(arguments)})"


def print_name(value: Value) -> str:
    """%name, quoted where it must be."""
    return f"%{_word(value.name, _PLAIN_NAME)}"


def print_type(tensor: TensorType) -> str:
    """f32[1,13] @candidate"""
    text = f"{tensor.dtype.value}[{','.join(map(_dim, tensor.shape))}]"
    return text if tensor.space is None else f"{text} @{tensor.space.value}"


def print_attribute(value: object) -> str:
    """The text of an attribute. Raises TypeError for a kind of value that has none."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, DType | Space):
        return value.value
    if isinstance(value, BatchSize | RaggedSize):
        return _dim(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(print_attribute, cast('tuple[object, ...]', value)))}]"
    raise TypeError(f"no text form for {value!r}")


def same_graph(one: Graph, other: Graph) -> bool:
    """True if both have the same text and bit for bit the same constants."""
    return print_graph(one) == print_graph(other) and all(
        array.tobytes() == other.constants[name].tobytes() for name, array in one.constants.items()
    )


def _constant(graph: Graph, value: Value) -> str:
    text = f"constant {_typed(value)}"
    array = graph.constants[value.name]
    return text if array.size > LITERAL_ELEMENTS else f"{text} = {_literal(array)}"


def _literal(array: Array) -> str:
    items: Iterable[Any] = array.reshape(-1)
    # str of a NumPy scalar is the shortest text that gives the same element back.
    texts = [str(item).lower() for item in items]
    return f"[{', '.join(texts)}]" if array.ndim else texts[0]


def _typed(value: Value) -> str:
    return f"{print_name(value)}: {print_type(value.type)}"


def _attributes(op: Op) -> list[tuple[str, object]]:
    pairs = [(field, getattr(op, field.name)) for field in fields(op)]
    return [
        (field.name, value)
        for field, value in pairs
        if field.default is MISSING or field.default != value
    ]


def _dim(dim: Dim) -> str:
    return f"~{_word(dim.name, _PLAIN_NAME)}" if isinstance(dim, RaggedSize) else str(dim)


def _from(value: Value, origins: bool) -> str:
    origin = value.origin
    if origin is None or not origins:
        return ""
    return f"  # from {print_origin(origin)}"


def print_origin(origin: Origin) -> str:
    """module file:line "source"; the unknown parts at the end are left out."""
    text = _word(origin.module, _PLAIN_PLACE)
    if origin.file or origin.line or origin.source:
        text += f" {_word(origin.file, _PLAIN_PLACE)}:{origin.line}"
    return f"{text} {json.dumps(origin.source)}" if origin.source else text


def _word(text: str, plain: re.Pattern[str]) -> str:
    return text if plain.fullmatch(text) else json.dumps(text)
