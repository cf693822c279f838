"""From a model to a program: every step of the compiler, in order."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from swath.artifact.contents import Contents, Library, Table
from swath.artifact.manifest import (
    ConstantSource,
    InputSource,
    InputSpec,
    LookupSpec,
    OutputSource,
    OutputSpec,
    RowsSource,
)
from swath.artifact.weights import WeightsBuilder
from swath.artifact.writer import write_artifact
from swath.declarations import check_ids, check_kinds, check_names, check_options
from swath.graph.ir import Graph, Value
from swath.graph.ops.base import RowAxis
from swath.graph.text import print_graph
from swath.options import Input, Options
from swath.passes.pipeline import PassReport, run
from swath.report.clock import Clock
from swath.report.make_report import compile_report, encode_report
from swath.rows.debatch import debatch
from swath.runtime.program import Program, load_temporary
from swath.stages.lowering import lower
from swath.stages.program import make_program
from swath.stages.provenance import Provenance
from swath.stages.schedule import thread_min_rows
from swath.stages.state import State
from swath.targets.cpu.build import build_libraries, find_compiler, write_sources
from swath.targets.cpu.write_program import write_program
from swath.tile import kernels as tile
from swath.tile.views import Buffer

if TYPE_CHECKING:
    from swath.frontends.importer import Imported
    from swath.frontends.signature import Signature


@dataclass(frozen=True, slots=True)
class Compilation:
    """What the steps made, for reports: the graph before and after the passes, the kernels."""

    imported: Graph
    graph: Graph
    input_rows: tuple[RowAxis | None, ...]
    output_rows: tuple[RowAxis | None, ...]
    passes: tuple[PassReport, ...]
    program: tile.Program
    source: str


def compile(
    model: Any,
    example_inputs: Any,
    *,
    dynamic_shapes: Any = None,
    inputs: Mapping[str, Input] | None = None,
    options: Options | None = None,
) -> Program:
    """Compile a model into a program that runs without PyTorch.

    model           an `nn.Module` in eval mode, an `ExportedProgram`, or the path of a saved .pt2
    example_inputs  the arguments of one call: a tuple, a dict by name, or (args, kwargs)
    dynamic_shapes  as in torch.export; without it the leading axis of every input is the batch
    inputs          what is declared of inputs by name (`swath.Input`): ids out of range, raggedness
    options         see `swath.Options`

    Raises UnsupportedModel with every problem that was found, InvalidInput for a declaration that
    doesn't fit the model, EnvironmentProblem without a C++ compiler.
    """
    from swath.frontends.torch_export import import_program

    options = options or Options()
    declared = dict(inputs or {})
    check_kinds(declared)
    check_options(options)
    imported = import_program(model, example_inputs, dynamic_shapes=dynamic_shapes, inputs=declared)
    name = type(model).__name__
    return compile_imported(imported, name, declared, options)[0]


def compile_imported(
    imported: Imported, name: str, declared: Mapping[str, Input], options: Options
) -> tuple[Program, Compilation]:
    """The steps after the import: row form, passes, kernels, C++, artefact."""
    check_names(declared, [leaf.name for leaf in imported.signature.inputs])
    clock = Clock()
    debatched = debatch(imported.graph)
    clock.mark("debatch")
    graph, reports = run(debatched.graph, options)
    clock.mark("passes")
    computed, sources = _computed_outputs(graph, debatched.input_rows, debatched.output_rows)
    provenance = Provenance(computed)
    names = {
        value: leaf.name
        for value, leaf in zip(graph.inputs, imported.signature.inputs, strict=True)
    }

    def policy(ids: Value, elements: slice) -> tuple[str, int] | None:
        source = provenance.source(ids, elements)
        if source is None:
            return None
        entry = declared.get(names[source.input], Input())
        return entry.ids, entry.default_row

    state = lower(computed, policy, _with_rows(debatched.output_rows, sources))
    check_ids(declared, _followed(state, provenance, names))
    weights, offsets = _weights(state)
    outputs = _output_specs(graph, debatched.output_rows, sources, imported.signature, weights)
    program = make_program(state, offsets, options)
    source = write_program(program, name)
    clock.mark("kernels")
    libraries, texts = _build(source, program, options)
    clock.mark("libraries")
    contents = Contents(
        name=name,
        model={"class": name},
        options=msgspec.to_builtins(options),
        inputs=_input_specs(graph, debatched.input_rows, imported.signature),
        outputs=outputs,
        parameters=imported.signature.parameters,
        result=imported.signature.result,
        lookups=_lookup_specs(state, provenance, names),
        libraries=libraries,
        tables=[Table(buffer.name, array) for buffer, array in state.weights.tables.items()],
        weights=weights,
        graph=print_graph(graph),
        sources=texts,
        thread_min_rows=thread_min_rows(state.kernels, program.rows_per_swath),
        rows_per_swath=program.rows_per_swath,
        tolerance=dict(zip(("absolute", "relative"), options.tolerance, strict=True)),
        report=encode_report(compile_report(reports, program, source, clock.seconds)),
    )
    folder = Path(tempfile.mkdtemp(prefix="swath-"))
    path = write_artifact(folder / f"{name}.swath", contents)
    compilation = Compilation(
        debatched.graph,
        graph,
        debatched.input_rows,
        debatched.output_rows,
        tuple(reports),
        program,
        source,
    )
    return load_temporary(path, threads=options.threads or None), compilation


def _computed_outputs(
    graph: Graph, input_rows: tuple[RowAxis | None, ...], rows: tuple[RowAxis | None, ...]
) -> tuple[Graph, list[OutputSource | None]]:
    """The graph with only the outputs that kernels make, and the source of each output.

    A constant output has no source yet: its place in the weights is known later.
    """
    computed: list[Value] = []
    sources: list[OutputSource | None] = []
    for value, axis in zip(graph.outputs, rows, strict=True):
        given = graph.inputs.index(value) if value in graph.inputs else None
        if given is not None and input_rows[given] == axis:
            sources.append(InputSource(given))
        elif graph.constant(value) is not None and axis is None:
            sources.append(None)
        else:
            if value not in computed:
                computed.append(value)
            sources.append(RowsSource(computed.index(value)))
    buffers = [s.buffer for s in sources if isinstance(s, RowsSource)]
    if len(set(buffers)) != len(buffers):  # an output given twice is computed in a buffer each
        computed, count = [], 0
        for index, source in enumerate(sources):
            if isinstance(source, RowsSource):
                computed.append(graph.outputs[index])
                sources[index] = RowsSource(count)
                count += 1
    return dataclasses.replace(graph, outputs=tuple(computed)), sources


def _with_rows(
    rows: tuple[RowAxis | None, ...], sources: list[OutputSource | None]
) -> tuple[bool, ...]:
    """Of each output that kernels make, whether it has rows; in the order of the buffers."""
    with_rows = {
        source.buffer: axis is not None
        for axis, source in zip(rows, sources, strict=True)
        if isinstance(source, RowsSource)
    }
    return tuple(with_rows[buffer] for buffer in sorted(with_rows))


def _weights(state: State) -> tuple[WeightsBuilder, dict[Buffer, int]]:
    builder = WeightsBuilder()
    offsets = {
        buffer: builder.add(buffer.name, array) for buffer, array in state.weights.arrays.items()
    }
    return builder, offsets


def _build(
    source: str, program: tile.Program, options: Options
) -> tuple[list[Library], dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="swath-build-") as folder:
        path = write_sources(Path(folder) / "source", source)
        built = build_libraries(
            path, Path(folder) / "lib", options.targets, find_compiler(options.compiler)
        )
        libraries = [
            Library(isa, library.read_bytes(), program.scratch_bytes)
            for isa, library in built.items()
        ]
        return libraries, {file.name: file.read_text() for file in sorted(path.parent.iterdir())}


def _input_specs(
    graph: Graph, rows: tuple[RowAxis | None, ...], signature: Signature
) -> list[InputSpec]:
    specs: list[InputSpec] = []
    for value, axis, leaf in zip(graph.inputs, rows, signature.inputs, strict=True):
        shape = tuple(dim if isinstance(dim, int) else 1 for dim in value.type.shape)
        has_rows = axis is not None and leaf.kind in ("rows", "offsets")
        specs.append(
            InputSpec(
                name=leaf.name,
                dtype=leaf.dtype,  # type: ignore[arg-type]  # checked when the manifest is read
                row_shape=shape,
                batch_axis=axis.axis if has_rows and axis is not None else None,
                post=axis.post if has_rows and axis is not None else 1,
                kind=leaf.kind,
                offsets=leaf.offsets,
                include_last_offset=leaf.include_last_offset,
            )
        )
    return specs


def _output_specs(
    graph: Graph,
    rows: tuple[RowAxis | None, ...],
    sources: list[OutputSource | None],
    signature: Signature,
    weights: WeightsBuilder,
) -> list[OutputSpec]:
    specs: list[OutputSpec] = []
    for index, (value, axis, source, leaf) in enumerate(
        zip(graph.outputs, rows, sources, signature.outputs, strict=True)
    ):
        if source is None:
            array = graph.constants[value.name]
            source = ConstantSource(weights.add(f"output_{index}", array))
        specs.append(
            OutputSpec(
                name=leaf.name,
                dtype=value.type.dtype.numpy.name,  # type: ignore[arg-type]  # as above
                row_shape=value.type.static_shape,
                batch_axis=axis.axis if axis is not None else None,
                post=axis.post if axis is not None else 1,
                source=source,
            )
        )
    return specs


def _followed(
    state: State, provenance: Provenance, names: Mapping[Value, str]
) -> list[tuple[str, str, int]]:
    """The input, the table and its rows of each lookup whose ids are those of one input."""
    return [
        (names[source.input], entry.table.name, entry.rows)
        for entry, ids, elements in state.entries
        if (source := provenance.source(ids, elements)) is not None
    ]


def _lookup_specs(
    state: State, provenance: Provenance, names: Mapping[Value, str]
) -> list[LookupSpec]:
    specs: list[LookupSpec] = []
    for entry, ids, elements in state.entries:
        source = provenance.source(ids, elements)
        specs.append(
            LookupSpec(
                input=names[source.input] if source is not None else next(iter(names.values())),
                column=source.column if source is not None else None,
                table=entry.table.name,
                rows=entry.rows,
            )
        )
    return specs
