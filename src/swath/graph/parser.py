"""Parses the text form of a graph (see swath.graph.text)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

import numpy as np

from swath.errors import Problem, SwathError, Where
from swath.graph.ir import Array, Graph, Node, Origin, Value
from swath.graph.ops import OPS
from swath.graph.ops.base import Op, ShapeError
from swath.graph.types import BatchSize, Dim, DType, RaggedSize, Space, TensorType

ConstantSource = Mapping[str, Array] | Callable[[Value], Array | None]

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+)
      | (?P<comment>\#.*)
      | (?P<value>%(?:[\w.]+|"(?:[^"\\]|\\.)*"))
      | (?P<ragged>~(?:[\w.]+|"(?:[^"\\]|\\.)*"))
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<batch>\d*B(?:\+-?\d+)?(?!\w))
      | (?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf\b|nan\b))
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>[\[\](),:=@])""",
    re.VERBOSE,
)
_ORIGIN = re.compile(
    r"""\#\ from\ (?P<module>"(?:[^"\\]|\\.)*"|\S+)
        (?:\ (?P<file>"(?:[^"\\]|\\.)*"|\S+):(?P<line>-?\d+))?
        (?:\ (?P<source>"(?:[^"\\]|\\.)*"))?\s*""",
    re.VERBOSE,
)
_DTYPES = {dtype.value: dtype for dtype in DType}
_SPACES = {space.value: space for space in Space}
_WORDS = {"true": True, "false": False, "none": None}


class TextError(SwathError):
    """A text that is no graph; `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, what: str, source: str) -> None:
        super().__init__(
            Problem(
                "SW903",
                f"line {line}, column {column}: {what}",
                "the text form of a graph has one statement a line",
                f"correct the line:\n          {source}\n          {' ' * (column - 1)}^",
                Where(line=line),
            )
        )
        self.line = line
        self.column = column
        self._arguments = (line, column, what, source)

    def __reduce__(self) -> tuple[type[TextError], tuple[int, int, str, str]]:
        return type(self), self._arguments


def parse_graph(text: str, constants: ConstantSource | None = None) -> Graph:
    """The graph of a text.

    `constants` gives the arrays of the constants without a value in the text: a mapping by name,
    or a function of the value. Raises TextError.
    """
    parser = _Parser({} if constants is None else constants)
    for number, line in enumerate(text.splitlines(), 1):
        tokens = _Line(number, line)
        if not tokens.at_end:
            parser.statement(tokens)
    if parser.outputs is None:
        raise TextError(text.count("\n") + 1, 1, "the graph has no `return`", "")
    return Graph(
        tuple(parser.inputs),
        tuple(parser.constant_values),
        parser.constants,
        tuple(parser.nodes),
        parser.outputs,
    )


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


class _Line:
    """The tokens of a line, read from left to right."""

    def __init__(self, number: int, source: str) -> None:
        self.number = number
        self.source = source
        self.origin: Origin | None = None
        self.tokens = list(self._scan())
        self.position = 0

    def _scan(self) -> Iterator[_Token]:
        column = 0
        while column < len(self.source):
            match = _TOKEN.match(self.source, column)
            if match is None:
                raise TextError(
                    self.number, column + 1, f"unexpected {self.source[column]!r}", self.source
                )
            kind = match.lastgroup or ""
            if kind == "comment":
                self.origin = _parse_origin(match.group())
            elif kind != "blank":
                yield _Token(kind, match.group(), column + 1)
            column = match.end()
        yield _Token("end", "the end of the line", len(self.source.rstrip()) + 1)

    @property
    def at_end(self) -> bool:
        return self.peek.kind == "end"

    @property
    def peek(self) -> _Token:
        return self.tokens[self.position]

    def next(self) -> _Token:
        token = self.tokens[self.position]
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def accept(self, text: str) -> bool:
        if self.peek.kind in ("mark", "word") and self.peek.text == text:
            self.next()
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(self.peek, f"expected `{text}`, found {self.peek.text}")

    def expect_kind(self, kind: str, what: str) -> _Token:
        if self.peek.kind != kind:
            raise self.error(self.peek, f"expected {what}, found {self.peek.text}")
        return self.next()

    def error(self, token: _Token, what: str) -> TextError:
        return TextError(self.number, token.column, what, self.source)


@dataclass(slots=True)
class _Parser:
    source: ConstantSource
    inputs: list[Value] = field(default_factory=list[Value])
    constant_values: list[Value] = field(default_factory=list[Value])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    nodes: list[Node] = field(default_factory=list[Node])
    outputs: tuple[Value, ...] | None = None
    values: dict[str, Value] = field(default_factory=dict[str, Value])

    def statement(self, line: _Line) -> None:
        if self.outputs is not None:
            raise line.error(line.peek, "there is a statement behind `return`")
        if line.accept("input"):
            self.inputs.append(self.define(line, *self.typed_name(line)))
        elif line.accept("constant"):
            self.constant(line)
        elif line.accept("return"):
            self.outputs = tuple(self.uses(line))
        else:
            self.node(line)
        if not line.at_end:
            raise line.error(line.peek, f"unexpected {line.peek.text}")

    def constant(self, line: _Line) -> None:
        token, type_ = self.typed_name(line)
        if not all(isinstance(dim, int) for dim in type_.shape):
            raise line.error(token, f"the shape of constant {token.text} must be ints")
        value = self.define(line, token, type_)
        array = _literal(line, value) if line.accept("=") else self.array(value)
        if array is None:
            raise line.error(token, f"constant {token.text} has neither a value nor an array")
        if (array.shape, array.dtype) != (type_.shape, type_.dtype.numpy):
            found = f"{array.dtype}{list(array.shape)}"
            raise line.error(token, f"constant {token.text} is {type_}, its array {found}")
        self.constant_values.append(value)
        self.constants[value.name] = array

    def array(self, value: Value) -> Array | None:
        if callable(self.source):
            return self.source(value)
        return self.source.get(value.name)

    def node(self, line: _Line) -> None:
        results = [self.result(line)]
        while line.accept(","):
            results.append(self.result(line))
        line.expect("=")
        token = line.expect_kind("word", "the name of an op")
        if token.text not in OPS:
            raise line.error(token, f"there is no op `{token.text}`")
        inputs, attributes = self.arguments(line)
        op = _make_op(line, token, attributes)
        types = self.types(line, token, op, inputs, [type_ for _, type_ in results])
        outputs = tuple(
            self.define(line, name, type_) for (name, _), type_ in zip(results, types, strict=True)
        )
        self.nodes.append(Node(op, tuple(inputs), outputs))

    def types(
        self,
        line: _Line,
        token: _Token,
        op: Op,
        inputs: list[Value],
        given: list[TensorType | None],
    ) -> list[TensorType]:
        if all(given):
            return [type_ for type_ in given if type_ is not None]
        try:
            inferred = op.result_types(tuple(value.type for value in inputs))
        except (ShapeError, ValueError) as error:
            raise line.error(token, str(error)) from error
        if len(inferred) != len(given):
            raise line.error(token, f"`{op.name}` has {len(inferred)} results, not {len(given)}")
        if not inputs and self.row_form:
            inferred = tuple(type_.with_space(Space.ONCE) for type_ in inferred)
        return [one or other for one, other in zip(given, inferred, strict=True)]

    @property
    def row_form(self) -> bool:
        return any(value.type.space for value in (*self.inputs, *self.constant_values))

    def result(self, line: _Line) -> tuple[_Token, TensorType | None]:
        token = line.expect_kind("value", "the name of a value")
        return token, _type(line) if line.accept(":") else None

    def typed_name(self, line: _Line) -> tuple[_Token, TensorType]:
        token = line.expect_kind("value", "the name of a value")
        line.expect(":")
        return token, _type(line)

    def define(self, line: _Line, token: _Token, type_: TensorType) -> Value:
        name = _name(token)
        if name in self.values:
            raise line.error(token, f"{token.text} is defined twice")
        self.values[name] = Value(name, type_, line.origin)
        return self.values[name]

    def use(self, line: _Line) -> Value:
        token = line.expect_kind("value", "the name of a value")
        value = self.values.get(_name(token))
        if value is None:
            raise line.error(token, f"{token.text} is not defined above")
        return value

    def uses(self, line: _Line) -> Iterator[Value]:
        while not line.at_end:
            yield self.use(line)
            if not line.at_end:
                line.expect(",")

    def arguments(self, line: _Line) -> tuple[list[Value], dict[str, tuple[_Token, object]]]:
        inputs: list[Value] = []
        attributes: dict[str, tuple[_Token, object]] = {}
        line.expect("(")
        while not line.accept(")"):
            if line.peek.kind == "value" and not attributes:
                inputs.append(self.use(line))
            else:
                token = line.expect_kind("word", "an attribute")
                line.expect("=")
                attributes[token.text] = (token, _attribute(line))
            if line.peek.text != ")":
                line.expect(",")
        return inputs, attributes


def _make_op(line: _Line, token: _Token, attributes: dict[str, tuple[_Token, object]]) -> Op:
    op_type = OPS[token.text]
    known = {field.name for field in fields(op_type)}
    for name, (place, _) in attributes.items():
        if name not in known:
            raise line.error(place, f"`{token.text}` has no attribute `{name}`")
    arguments = cast("dict[str, Any]", {name: value for name, (_, value) in attributes.items()})
    try:
        return op_type(**arguments)
    except TypeError as error:
        missing = ", ".join(sorted(known - set(attributes)))
        raise line.error(token, f"`{token.text}` lacks attributes among {missing}") from error


def _type(line: _Line) -> TensorType:
    token = line.expect_kind("word", "an element type")
    if token.text not in _DTYPES:
        raise line.error(token, f"there is no element type `{token.text}`")
    line.expect("[")
    dims: list[Dim] = []
    while not line.accept("]"):
        dims.append(_dim(line))
        if line.peek.text != "]":
            line.expect(",")
    space = None
    if line.accept("@"):
        name = line.expect_kind("word", "a row space")
        if name.text not in _SPACES:
            raise line.error(name, f"there is no row space `{name.text}`")
        space = _SPACES[name.text]
    return TensorType(_DTYPES[token.text], tuple(dims), space)


def _dim(line: _Line) -> Dim:
    token = line.peek
    value = _attribute(line)
    if isinstance(value, bool) or not isinstance(value, int | BatchSize | RaggedSize):
        raise line.error(token, f"expected a size, found {token.text}")
    return value


def _attribute(line: _Line) -> object:
    if line.accept("["):
        items: list[object] = []
        while not line.accept("]"):
            items.append(_attribute(line))
            if line.peek.text != "]":
                line.expect(",")
        return tuple(items)
    token = line.next()
    match token.kind:
        case "number":
            return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)
        case "string":
            return json.loads(token.text)
        case "ragged":
            return RaggedSize(_name(token))
        case "batch":
            multiple, _, extra = token.text.partition("B")
            return BatchSize(int(multiple or 1), int(extra or 0))
        case "word" if token.text in _WORDS:
            return _WORDS[token.text]
        case "word" if token.text in _DTYPES:
            return _DTYPES[token.text]
        case "word" if token.text in _SPACES:
            return _SPACES[token.text]
        case _:
            raise line.error(token, f"expected a value of an attribute, found {token.text}")


def _literal(line: _Line, value: Value) -> Array:
    token = line.peek
    content = _attribute(line)
    try:
        items = np.asarray(content, dtype=value.type.dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise line.error(token, f"no elements of type {value.type}: {error}") from error
    shape = value.type.static_shape
    if items.size != int(np.prod(shape)):
        raise line.error(token, f"{items.size} elements for {value.type}")
    return items.reshape(shape)


def _parse_origin(comment: str) -> Origin | None:
    match = _ORIGIN.fullmatch(comment)
    if match is None:
        return None
    module, file, line, source = match.group("module", "file", "line", "source")
    return Origin(_unquote(module), _unquote(file or ""), int(line or 0), _unquote(source or ""))


def _name(token: _Token) -> str:
    return _unquote(token.text[1:])


def _unquote(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text
