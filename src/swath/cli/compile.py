"""swath compile: a model into an artefact."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from swath.cli.flags import compiler_flags, examples, model_argument, output_flags
from swath.cli.outcome import USAGE, Outcome, Output, Say, again, call, run
from swath.options import Input, Options


class Compiled(msgspec.Struct, frozen=True):
    """The artefact that was written: its folder, the size of all its files, of the libraries by
    ISA, peak scratch of a thread in bytes, and seconds from the import to the last file."""

    model: str
    path: str
    bytes: int
    libraries: dict[str, int]
    scratch_bytes: int
    seconds: float


@click.command(
    "compile",
    epilog=examples(
        "swath compile model.py:make -o model.swath",
        "swath compile model.py:make --targets x86-64-v4 --input user:ids=modulo",
    ),
)
@model_argument
@click.option("-o", "--output", "path", type=click.Path(path_type=Path),
              help="Folder to write; the model's name with .swath by default.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace an artefact that is there already.")
@compiler_flags
@output_flags
def compile_command(
    model: str,
    path: Path | None,
    overwrite: bool,
    declared: Mapping[str, Input],
    options: Options,
    output: Output,
) -> None:
    """Compile MODEL into an artefact, a folder that runs without PyTorch:
    swath.load("model.swath").

    Exits with 3 if the model has problems (see `swath check`), with 4 if the machine lacks a C++
    compiler (see `swath doctor`).
    """

    def body(say: Say) -> Outcome:
        return _compile(model, path, overwrite, declared, options, say)

    run("compile", output, body, model=model)


def _compile(
    model: str,
    path: Path | None,
    overwrite: bool,
    declared: Mapping[str, Input],
    options: Options,
    say: Say,
) -> Outcome:
    from swath.artifact.publish import MANIFEST_FILE, refuse_existing
    from swath.compiler import compile
    from swath.errors import InvalidArtifact
    from swath.report.models import load_model

    say(f"loading {model}")
    named = load_model(model)
    target = path or Path(f"{named.name}.swath")
    try:  # better known now than after the compilation
        refuse_existing(target, overwrite=overwrite)
    except InvalidArtifact as error:
        if not overwrite and (target / MANIFEST_FILE).is_file():
            return Outcome(None, "", USAGE, again("--overwrite"), (error.problem,))
        raise
    say("compiling")
    begin = time.perf_counter()
    program = compile(
        named.model,
        named.example_inputs,
        dynamic_shapes=named.dynamic_shapes,
        inputs=declared,
        options=options,
    )
    with program:
        program.save(target, overwrite=overwrite)
        manifest = program.manifest
    seconds = round(time.perf_counter() - begin, 3)
    sizes = {file.path: file.size for file in manifest.files}
    compiled = Compiled(
        manifest.name,
        str(target),
        sum(sizes.values()),
        {library.isa: sizes[library.file] for library in manifest.libraries},
        max(library.scratch_bytes for library in manifest.libraries),
        seconds,
    )
    following = call("swath", "compare", model, "--program", str(target))
    return Outcome(compiled, _text(compiled), next=following)


def _text(found: Compiled) -> str:
    from swath.report.table import size_text

    libraries = ", ".join(f"{isa} {size_text(size)}" for isa, size in found.libraries.items())
    return (
        f"{found.path}: {size_text(found.bytes)}, compiled in {found.seconds:.1f} s\n"
        f"libraries {libraries}; scratch {size_text(found.scratch_bytes)} a thread"
    )
