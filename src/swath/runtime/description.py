"""The manifest in the plain tuples that the native program reads (`native/signature.cpp`)."""

from __future__ import annotations

from typing import Any

from swath.artifact.manifest import (
    Constant,
    ConstantSource,
    DictNode,
    InputSource,
    InputSpec,
    Leaf,
    ListNode,
    Manifest,
    OutputSpec,
    RowsSource,
    Tree,
    TupleNode,
)
from swath.artifact.tables import DTYPES

_KINDS = ("rows", "ragged", "offsets", "once")


def describe(manifest: Manifest) -> tuple[Any, ...]:
    """Inputs, outputs, parameters and result of a program."""
    by_name = {spec.name: index for index, spec in enumerate(manifest.inputs)}
    return (
        tuple(_input(spec, by_name) for spec in manifest.inputs),
        tuple(_output(spec) for spec in manifest.outputs),
        tuple(
            (parameter.name, parameter.keyword_only, _node(parameter.structure))
            for parameter in manifest.parameters
        ),
        _node(manifest.result),
    )


def _layout(spec: InputSpec | OutputSpec) -> tuple[Any, ...]:
    axis = -1 if spec.batch_axis is None else spec.batch_axis
    return (DTYPES.index(spec.dtype), list(spec.row_shape), axis, spec.post)


def _input(spec: InputSpec, by_name: dict[str, int]) -> tuple[Any, ...]:
    offsets = -1 if spec.offsets is None else by_name[spec.offsets]
    return (*_layout(spec), _KINDS.index(spec.kind), offsets, spec.include_last_offset)


def _output(spec: OutputSpec) -> tuple[Any, ...]:
    match spec.source:
        case RowsSource(buffer):
            source = (0, buffer)
        case ConstantSource(offset):
            source = (1, offset)
        case InputSource(index):
            source = (2, index)
    return (*_layout(spec), *source)


def _node(tree: Tree) -> tuple[Any, ...]:
    """(kind, leaf, keys, items, constant)"""
    match tree:
        case Leaf(index):
            return (0, index, (), (), None)
        case ListNode(items):
            return (1, -1, (), tuple(map(_node, items)), None)
        case TupleNode(items):
            return (2, -1, (), tuple(map(_node, items)), None)
        case DictNode(keys, items):
            return (3, -1, keys, tuple(map(_node, items)), None)
        case Constant(value):
            return (4, -1, (), (), value)
