"""Imports PyTorch models: nn.Module, ExportedProgram or saved program -> graph and signature."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, TensorArgument
from torch.utils import _pytree as pytree

from swath.artifact.manifest import Constant
from swath.errors import Problem, UnsupportedModel
from swath.frontends import aliases, exporting
from swath.frontends.aliases import Tensor
from swath.frontends.context import Context
from swath.frontends.diagnose import rest_problems, without_repeats
from swath.frontends.examples import read_example
from swath.frontends.importer import Imported, Importer
from swath.frontends.inline import flat_graph
from swath.frontends.promotion import HALF_TYPES, graph_dtype
from swath.frontends.prune import pruned
from swath.frontends.roles import Roles, find_roles
from swath.frontends.signature import (
    InputLeaf,
    Leaves,
    OutputLeaf,
    Signature,
    identifier,
    parameters,
)
from swath.frontends.sizes import Sizes
from swath.frontends.tracing import trace
from swath.frontends.unsupported import Unsupported
from swath.frontends.weights import Weights
from swath.graph.ir import GraphBuilder, Value
from swath.graph.types import TensorType
from swath.options import Input

Model = nn.Module | ExportedProgram | str | os.PathLike[str]


def import_program(
    model: Model,
    example_inputs: Any = None,
    *,
    dynamic_shapes: Any = None,
    inputs: Mapping[str, Input] | None = None,
) -> Imported:
    """Import a model.

    model           an nn.Module in eval mode, an ExportedProgram, or the path of a saved one (.pt2)
    example_inputs  a tuple of positional arguments, a dict of keyword arguments, or both as a pair;
                    only needed for an nn.Module; any batch, 0 and 1 included
    dynamic_shapes  as torch.export takes it; without it the leading axis of every tensor is the
                    batch
    inputs          declarations by input name; `Input(ragged="offsets")` marks the values of bags

    Raises UnsupportedModel, which lists everything that can't be imported.
    """
    declared = dict(inputs or {})
    try:
        if isinstance(model, str | os.PathLike):
            model = exporting.load(model)
        if isinstance(model, ExportedProgram):
            return read_program(model, None, declared)
        exporting.check_kind(model)
        exporting.check_eval_mode(model)

        def inspect(program: ExportedProgram) -> list[Problem]:
            return problems_of(program, model.forward, declared)

        program = trace(model, read_example(example_inputs), dynamic_shapes, declared, inspect)
        return read_program(program, model.forward, declared)
    except Unsupported as refusal:
        raise UnsupportedModel([refusal.at_model()]) from refusal


def read_program(
    program: ExportedProgram, forward: Callable[..., Any] | None, declared: Mapping[str, Input]
) -> Imported:
    """The graph and signature of an exported program. Raises UnsupportedModel, Unsupported."""
    reader = _Reader(program, forward, declared)
    return reader.read()


def problems_of(
    program: ExportedProgram, forward: Callable[..., Any] | None, declared: Mapping[str, Input]
) -> list[Problem]:
    """Everything that keeps a program from being imported, a fixed batch aside."""
    reader = _Reader(program, forward, declared)
    reader.batch_needed = False
    try:
        reader.read()
    except UnsupportedModel as unsupported:
        return list(unsupported.problems)
    except Unsupported as refusal:
        return [refusal.at_model()]
    return []


class _Reader:
    """One import of an exported program."""

    def __init__(
        self,
        program: ExportedProgram,
        forward: Callable[..., Any] | None,
        declared: Mapping[str, Input],
    ) -> None:
        self.program = program
        self.declared = declared
        self.forward = forward
        self.graph = flat_graph(program.graph_module)
        self.nodes = {node.name: node for node in self.graph.nodes if node.op == "placeholder"}
        self.context = Context(GraphBuilder())
        self.problems: list[Problem] = []
        self.batch_needed = True

    def read(self) -> Imported:
        leaves = Leaves(self._input_constants())
        call = self.program.module_call_graph[0].signature
        assert call is not None
        names = [*(call.forward_arg_names or ())]
        in_spec, out_spec = self.program.call_spec.in_spec, self.program.call_spec.out_spec
        assert in_spec is not None
        assert out_spec is not None
        formal = parameters(self.forward, in_spec, names, leaves)
        placeholders = dict(zip(leaves.names, self._user_nodes(), strict=True))
        self._check_inputs(placeholders)
        roles = find_roles(self.graph, placeholders, self.declared, batch_needed=self.batch_needed)
        importer = Importer(self.context, Sizes(roles.symbols))
        self._bind_inputs(importer, placeholders)
        self._bind_weights(importer)
        importer.run(self.graph)
        self.problems += importer.problems
        values, output_leaves, result = self._outputs(importer, out_spec)
        graph = self.context.builder.build(values)
        if self.problems:
            # The rest of the model may mix rows; told now, that saves a second attempt.
            raise UnsupportedModel(without_repeats([*self.problems, *rest_problems(graph)]))
        graph = pruned(graph)
        inputs = tuple(_input_leaf(name, node, roles) for name, node in placeholders.items())
        return Imported(graph, Signature(formal, inputs, output_leaves, result))

    # ---- inputs

    def _user_specs(self) -> list[Any]:
        return [
            spec.arg
            for spec in self.program.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT
        ]

    def _input_constants(self) -> list[Constant | None]:
        return [_constant(argument) for argument in self._user_specs()]

    def _user_nodes(self) -> list[fx.Node]:
        return [
            self.nodes[argument.name]
            for argument in self._user_specs()
            if isinstance(argument, TensorArgument)
        ]

    def _check_inputs(self, placeholders: Mapping[str, fx.Node]) -> None:
        for name, node in placeholders.items():
            tensor = node.meta["val"]
            if tensor.dtype in HALF_TYPES:
                raise Unsupported(
                    "SW014",
                    f"input {name!r} is {str(tensor.dtype).removeprefix('torch.')}",
                    "inputs are float32, float64, integers or bool",
                    "pass float32 and call model.float()",
                )

    def _bind_inputs(self, importer: Importer, placeholders: Mapping[str, fx.Node]) -> None:
        for name, node in placeholders.items():
            tensor = node.meta["val"]
            type = TensorType(graph_dtype(tensor.dtype), importer.sizes.shape(tensor.shape))
            value = self.context.builder.input(identifier(name), type)
            importer.environment[node] = aliases.fresh(value)

    def _bind_weights(self, importer: Importer) -> None:
        weights = Weights(self.program, self.context)
        for spec in self.program.graph_signature.input_specs:
            argument = spec.arg
            if spec.kind is InputKind.USER_INPUT or isinstance(argument, ConstantArgument):
                continue
            importer.bind_weight(self.nodes[argument.name], spec, weights)
        for node in self.graph.nodes:
            attribute = _attribute(self.program.graph_module, node)
            if isinstance(attribute, torch.Tensor):
                value = weights.tensor(str(node.target), attribute)
                importer.environment[node] = aliases.fresh(value)

    # ---- outputs

    def _outputs(
        self, importer: Importer, out_spec: pytree.TreeSpec
    ) -> tuple[list[Value], tuple[OutputLeaf, ...], Any]:
        (node,) = [node for node in self.graph.nodes if node.op == "output"]
        specs = self.program.graph_signature.output_specs
        returned = cast("tuple[Any, ...]", node.args[0])
        user = [
            (spec, item)
            for spec, item in zip(specs, returned, strict=True)
            if spec.kind.name == "USER_OUTPUT"
        ]
        leaves = Leaves([_constant(spec.arg) for spec, _ in user])
        result = leaves.tree(out_spec, "")
        tensors = [item for spec, item in user if _constant(spec.arg) is None]
        values: list[Value] = []
        described: list[OutputLeaf] = []
        for name, item in zip(leaves.names, tensors, strict=True):
            name = name or "output"
            value = self._output_value(importer, name, item)
            if value is not None:
                values.append(value)
                dtype = str(item.meta["val"].dtype).removeprefix("torch.")
                described.append(OutputLeaf(name, dtype))
        return values, tuple(described), result

    def _output_value(self, importer: Importer, name: str, item: fx.Node) -> Value | None:
        found = importer.environment.get(item)
        if isinstance(found, Tensor):
            tensor = item.meta["val"]
            if tensor.dtype in HALF_TYPES:
                refusal = Unsupported(
                    "SW014",
                    f"output {name!r} is {str(tensor.dtype).removeprefix('torch.')}",
                    "outputs are float32, float64, integers or bool",
                    "return .float() of it",
                )
                self.problems.append(refusal.at_model())
                return None
            return aliases.read(self.context, found)
        if not self.problems:
            refusal = Unsupported(
                "SW021",
                f"output {name!r} is a number computed from the sizes of the inputs",
                "outputs are tensors, and numbers that are the same in every call",
                "return tensors; the caller knows the sizes of its inputs",
            )
            self.problems.append(refusal.at_model())
        return None


def _attribute(module: nn.Module, node: fx.Node) -> Any:
    """What a node that reads an attribute of the program reads; None for other nodes."""
    if node.op != "get_attr":
        return None
    value: Any = module
    for name in str(node.target).split("."):
        value = getattr(value, name, None)
    return value


def _constant(argument: Any) -> Constant | None:
    """The fixed value that an input or output is, None for tensors."""
    if isinstance(argument, ConstantArgument):
        return Constant(argument.value)
    return None


def _input_leaf(name: str, node: fx.Node, roles: Roles) -> InputLeaf:
    tensor = cast("torch.Tensor", node.meta["val"])
    return InputLeaf(
        name,
        str(tensor.dtype).removeprefix("torch."),
        roles.kinds[name],
        roles.offsets.get(name),
        roles.include_last.get(name, False),
    )
