"""A compiled model that can be called."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from swath.artifact.manifest import InputSpec, LibrarySpec, Manifest, OutputSpec
from swath.artifact.publish import copy_artifact, remove_folder
from swath.artifact.reader import Verify, read_artifact
from swath.artifact.tables import HEADER_BYTES
from swath.errors import (
    EnvironmentProblem,
    InvalidArtifact,
    InvalidInput,
    Problem,
    ProgramClosed,
    Where,
)
from swath.runtime import _native
from swath.runtime.adapt import adapt
from swath.runtime.description import describe
from swath.runtime.explain import Explainer, closed_problem


class Program(_native.NativeProgram):
    """A compiled model, called like the model: `scores = program(ids, dense)`.

    Inputs are NumPy arrays or torch tensors, by position or name and nested as in the model's
    `forward`; outputs are of the kind that came in. A program is immutable and may be called from
    any number of threads at once; the GIL is released while it computes.

    Raises InvalidInput where an input doesn't fit, and ProgramClosed after `close()`.
    """

    manifest: Manifest
    path: Path
    isa: str

    def __new__(cls, path: Path, manifest: Manifest, library: LibrarySpec, threads: int) -> Self:
        """For `load`: open the files of an artefact that has been checked."""
        sizes = {file.path: file.size for file in manifest.files}
        weights = manifest.weights

        def region(file: str, offset: int) -> tuple[str, int, int]:
            return (f"{path}/{file}", sizes[file], offset)

        self = super().__new__(
            cls,
            describe(manifest),
            str(path / library.file),
            region(weights.file, weights.data_offset),
            tuple(region(table.file, HEADER_BYTES) for table in manifest.tables),
            (threads, manifest.thread_min_rows, manifest.rows_per_swath),
            Explainer(manifest).explain,
            adapt,
        )
        self.manifest = manifest
        self.path = path
        self.isa = library.isa
        return self

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.manifest.name

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """The input leaves, in the order in which the parameters hold them."""
        return self.manifest.inputs

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """The output leaves."""
        return self.manifest.outputs

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Copy the artefact to `path`, all of it or nothing; returns the path.

        Raises InvalidArtifact where `path` exists (unless it is an artefact and `overwrite` is set)
        or can't be written.
        """
        if self.closed:
            raise ProgramClosed(closed_problem(self.name))
        return copy_artifact(
            self.path, path, overwrite=overwrite, link=self._finalizer() is not None
        )

    def close(self) -> None:
        """Give back the memory and the files; calls that are running finish first.

        Later calls raise ProgramClosed. Closing twice is fine.
        """
        self._close()
        finalizer = self._finalizer()
        if finalizer is not None:
            finalizer()

    def _finalizer(self) -> weakref.finalize[Any, Any] | None:
        """What removes the temporary folder of this program, if it has one."""
        return self.__dict__.get("_remove_folder")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.isa
        names = ", ".join(parameter.name for parameter in self.manifest.parameters)
        return f"<swath.Program {self.name}({names}) {state}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a Program can't be pickled: save it, and load the path in the other process"
        )


_native.share_vectorcall(Program)


def load(
    path: str | Path,
    *,
    verify: Verify = "default",
    threads: int | None = None,
    isa: str | None = None,
) -> Program:
    """Open an artefact.

    verify    "default" checks all but large tables (over 64 MB together) byte by byte, and those by
              size and header; "full" checks every byte
    threads   the most threads that work on one call; None for as many as there are CPUs
    isa       take the library for this ISA instead of the best that the CPU can run

    Raises InvalidArtifact where the artefact is damaged or foreign, and EnvironmentProblem where
    the CPU can run none of its libraries.
    """
    _check_arguments(verify, threads)
    folder = Path(path)
    manifest = read_artifact(folder, verify=verify)
    library = choose_library(manifest, frozenset(_native.cpu_features()), isa)
    try:
        return Program(folder, manifest, library, threads or _native.cpu_count())
    except RuntimeError as error:
        raise InvalidArtifact(_unloadable(folder, str(error))) from error


def load_temporary(path: Path, *, threads: int | None = None, isa: str | None = None) -> Program:
    """Open an artefact whose folder vanishes with the program; `save` keeps a copy."""
    program = load(path, threads=threads, isa=isa)
    program.__dict__["_remove_folder"] = weakref.finalize(program, remove_folder, path)
    return program


def choose_library(
    manifest: Manifest, features: frozenset[str], isa: str | None = None
) -> LibrarySpec:
    """The last library of a manifest that a CPU with these features can run.

    Raises EnvironmentProblem where there is none.
    """
    candidates = [library for library in manifest.libraries if isa in (None, library.isa)]
    fitting = [library for library in candidates if features.issuperset(library.requires)]
    if fitting:
        return fitting[-1]
    names = ", ".join(library.isa for library in manifest.libraries)
    if not candidates:
        why = f"it holds libraries for {names} only"
    else:
        lacking = sorted(set(candidates[0].requires) - features)
        why = f"its libraries are for {names}, and this CPU lacks {', '.join(lacking)}"
    raise EnvironmentProblem(
        Problem(
            "SW310",
            f"the artefact {manifest.name!r} has no library for {isa or 'this CPU'}",
            why,
            "compile the model with the ISA of this machine among Options.targets",
        )
    )


def _check_arguments(verify: str, threads: int | None) -> None:
    problem: tuple[str, str] | None = None
    if verify not in ("default", "full"):
        problem = (f"verify={verify!r}", 'use verify="default" or verify="full"')
    elif threads is not None and threads < 1:
        problem = (f"threads={threads}", "use threads=1 or more, or None for all CPUs")
    if problem is not None:
        what, fix = problem
        raise InvalidInput(Problem("SW118", f"load() can't take {what}", "it has no meaning", fix))


def _unloadable(folder: Path, why: str) -> Problem:
    return Problem(
        "SW210",
        "a library or file of the artefact can't be opened",
        why,
        "compile the model again on a machine like this one",
        Where(str(folder)),
    )
