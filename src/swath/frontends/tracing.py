"""From a module and an example to an exported program whose batch is free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument
from torch.utils import _pytree as pytree

from swath.errors import UnsupportedModel
from swath.frontends.adapters import UNKNOWN_RESULT, adapted
from swath.frontends.diagnose import Inspect, explain_failure
from swath.frontends.examples import (
    Example,
    default_shapes,
    named_leaves,
    requested_axes,
    without_small_batch,
)
from swath.frontends.exporting import ExportFailure, export
from swath.frontends.pinned import LEAST_TRACED, least_batch, pinned, pinning_lines
from swath.frontends.roles import find_bags, values_tied_to_bags
from swath.frontends.scan import Replay, constant_reads
from swath.frontends.sizes import is_fixed
from swath.options import Input


def trace(
    model: nn.Module,
    given: Example,
    dynamic_shapes: Any,
    declared: Mapping[str, Input],
    inspect: Inspect,
) -> ExportedProgram:
    """The program of a model. `inspect` lists the problems of a program that was traced only to
    find them. Raises UnsupportedModel with all problems that can be found."""
    with adapted(model, given):
        if dynamic_shapes is not None:
            example = without_small_batch(given, model.forward, dynamic_shapes)
            return _trace_with(model, example, given, dynamic_shapes, inspect)
        example, shapes = default_shapes(given, model.forward, declared)
        program = _trace_with(model, example, given, shapes, inspect)
        if values_tied_to_bags(program.graph):
            # Values and offsets of bags had as many elements as the batch has rows, by chance.
            example, shapes = default_shapes(given, model.forward, declared, one_batch=False)
            program = _trace_with(model, example, given, shapes, inspect)
        return program


def _trace_with(
    model: nn.Module, example: Example, given: Example, dynamic_shapes: Any, inspect: Inspect
) -> ExportedProgram:
    try:
        program = _export(model, example, dynamic_shapes)
        check_free_axes(model, example, dynamic_shapes, program)
        return program
    except ExportFailure as failure:
        problems = explain_failure(model, example, given, dynamic_shapes, failure, inspect)
        raise UnsupportedModel(problems) from failure


def _export(model: nn.Module, example: Example, dynamic_shapes: Any) -> ExportedProgram:
    try:
        return export(model, example, dynamic_shapes)
    except ExportFailure as failure:
        if UNKNOWN_RESULT in str(failure.non_strict):
            with adapted(model, example, plain_results=True):
                return export(model, example, dynamic_shapes)
        reads = constant_reads(model, example)
        if not reads:
            raise
    # Python has read weights or other constants: the values are the same in every call.
    return export(model, example, dynamic_shapes, Replay(reads))


def check_free_axes(
    model: nn.Module, example: Example, dynamic_shapes: Any, program: ExportedProgram
) -> None:
    """Raises UnsupportedModel if torch has fixed an axis that was to be free, or has limited it."""
    asked = requested_axes(example, model.forward, dynamic_shapes)
    names = {id(leaf): name for name, leaf in named_leaves(example.bound(model.forward))}
    leaves: list[Any] = pytree.tree_leaves((example.args, example.kwargs))
    axes = [asked.get(names.get(id(leaf), ""), ()) for leaf in leaves if torch.is_tensor(leaf)]
    tensors = user_tensors(program)
    fixed = len(axes) == len(tensors) and any(
        is_fixed(tensor.shape[axis])
        for free, tensor in zip(axes, tensors, strict=True)
        for axis in free
    )
    # Offsets that hold the end of the last bag too have one element more than the batch.
    longer = any(bag.include_last for bag in find_bags(program.graph))
    if fixed or least_batch(program, tensors) > LEAST_TRACED + longer:
        lines = pinning_lines(model, example, dynamic_shapes)
        raise UnsupportedModel(lines or [pinned("one size").at_model()])


def user_tensors(program: ExportedProgram) -> list[torch.Tensor]:
    """What torch states of each tensor among the inputs."""
    names = {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
    }
    return [node.meta["val"] for node in program.graph.nodes if node.name in names]
