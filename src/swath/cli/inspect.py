"""swath inspect: what is in a program, and how near it comes to the machine's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from swath.cli.flags import compiler_flags, examples, output_flags
from swath.cli.outcome import Outcome, Output, Say, call, run
from swath.options import Input, Options

if TYPE_CHECKING:
    from swath.report.inspection import Inspection


@dataclass(frozen=True, slots=True)
class Sections:
    """Which sections are asked for; without any the summary, passes, kernels and memory."""

    passes: bool
    graph: bool
    kernels: bool
    kernel: str | None
    source: bool
    memory: bool
    roofline: bool
    after: str | None
    batch: int

    @property
    def any(self) -> bool:
        """True if a section is named."""
        chosen = (self.passes, self.graph, self.kernels, self.source, self.memory, self.roofline)
        return any(chosen) or self.kernel is not None or self.after is not None


@click.command(
    "inspect",
    epilog=examples(
        "swath inspect model.swath",
        "swath inspect model.swath --kernel product_1",
        "swath inspect model.py:make --after pack",
        "swath inspect model.swath --roofline --batch 128",
    ),
)
@click.argument("program", metavar="MODEL|ARTEFACT")
@click.option("--passes", is_flag=True, help="Passes with counts and times, steps with times.")
@click.option("--graph", is_flag=True, help="The graph behind all passes, as text.")
@click.option("--kernels", is_flag=True,
              help="Kernels: function, flops and bytes, module path in the model.")  # fmt: skip
@click.option("--kernel", metavar="NUMBER|FUNCTION", help="One kernel with its source.")
@click.option("--source", is_flag=True, help="The whole generated program.")
@click.option("--memory", is_flag=True,
              help="The scratch plan: buffers, offsets, lifetimes, peak.")  # fmt: skip
@click.option("--roofline", is_flag=True,
              help="Flops and bytes of each kernel against the measured limits of this machine, "
              "and the measured time of a call.")  # fmt: skip
@click.option("--batch", type=click.IntRange(1), default=1024, show_default=True,
              help="Rows of a call, for --roofline.")  # fmt: skip
@click.option("--after", metavar="STEP",
              help="Only the graph behind a step: import, debatch or a pass of MODEL.")  # fmt: skip
@compiler_flags
@output_flags
def inspect_command(
    program: str,
    declared: Mapping[str, Input],
    options: Options,
    output: Output,
    **sections: Any,
) -> None:
    """Show what is in a program: an ARTEFACT that was compiled before (needs no PyTorch), or a
    MODEL, which is compiled for it. Without a flag it shows interface, passes, kernels, memory.
    """
    chosen = Sections(**sections)

    def body(say: Say) -> Outcome:
        if chosen.after is not None:
            return _after(program, chosen.after, declared, options, say)
        if program.endswith(".swath") or Path(program).is_dir():
            return _inspect(Path(program), chosen, say)
        return _inspect_model(program, chosen, declared, options, say)

    run("inspect", output, body, model=program)


def _inspect_model(
    model: str, sections: Sections, declared: Mapping[str, Input], options: Options, say: Say
) -> Outcome:
    from swath.compiler import compile
    from swath.report.models import load_model

    say(f"loading {model}")
    named = load_model(model)
    say("compiling")
    with compile(
        named.model,
        named.example_inputs,
        dynamic_shapes=named.dynamic_shapes,
        inputs=declared,
        options=options,
    ) as program:
        return _inspect(program.path, sections, say)


def _inspect(path: Path, sections: Sections, say: Say) -> Outcome:
    from swath.artifact.reader import read_artifact
    from swath.report import inspection as report

    manifest = read_artifact(path)
    found = replace(report.inspection(path, manifest), report=report.read_report(path))
    source = report.read_text(path, report.SOURCE)
    if sections.graph:
        found = replace(found, graph=report.read_text(path, report.GRAPH))
    if sections.source:
        found = replace(found, source=source)
    if sections.kernel is not None and found.report is not None:
        kernel = report.find_kernel(found.report, sections.kernel)
        found = replace(found, kernel_source=report.kernel_text(kernel, source))
    if sections.roofline and found.report is not None:
        from swath.report.roofline import roofline

        say("measuring the machine and the program")
        found = replace(found, roofline=roofline(path, manifest, found.report, sections.batch))
    return Outcome(found, "\n\n".join(_texts(found, sections)))


def _texts(found: Inspection, sections: Sections) -> list[str]:
    from swath.report import inspection as report

    assert found.report is not None
    texts: list[str] = []
    if not sections.any:
        texts.append(report.summary_text(found))
    if sections.passes or not sections.any:
        texts.append(report.passes_text(found.report))
    if found.graph is not None:
        texts.append(found.graph.rstrip())
    if sections.kernels or not sections.any:
        texts.append(report.kernels_text(found.report))
    if found.kernel_source is not None:
        texts.append(found.kernel_source)
    if found.source is not None:
        texts.append(found.source.rstrip())
    if sections.memory or not sections.any:
        texts.append(report.memory_text(found.report))
    if found.roofline is not None:
        texts.append(report.roofline_text(found.report, found.roofline))
    return texts


def _after(
    model: str, step: str, declared: Mapping[str, Input], options: Options, say: Say
) -> Outcome:
    from swath.errors import Problem, SwathError
    from swath.graph.text import print_graph
    from swath.report.bisect import graphs_of
    from swath.report.models import load_model

    say(f"loading {model}")
    named = load_model(model)
    say("importing")
    imported, debatched, kept = graphs_of(named, declared, options)
    graphs = {"import": imported, "debatch": debatched.graph, **dict(kept)}
    if step not in graphs:
        raise SwathError(
            Problem(
                "SW411",
                f"there is no step {step!r}",
                f"the steps are {', '.join(graphs)}",
                "name one of these",
            )
        )
    text = print_graph(graphs[step])
    return Outcome(
        {"step": step, "graph": text}, text.rstrip(), next=call("swath", "inspect", model)
    )
