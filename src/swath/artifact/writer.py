"""Writing an artefact."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from swath.artifact.contents import Contents
from swath.artifact.envelope import seal
from swath.artifact.manifest import (
    ISA_REQUIREMENTS,
    DType,
    FileSpec,
    LibrarySpec,
    Manifest,
    TableSpec,
    WeightsSpec,
)
from swath.artifact.publish import MANIFEST_FILE, new_folder
from swath.artifact.tables import table_chunks
from swath.version import VERSION

WEIGHTS_FILE = "weights.safetensors"
GRAPH_FILE = "graph.txt"
REPORT_FILE = "report.json"


def write_artifact(path: str | Path, contents: Contents, *, overwrite: bool = False) -> Path:
    """Write an artefact as the folder `path`, all of it or nothing; returns the path.

    Raises InvalidArtifact where `path` exists (unless it is an artefact and `overwrite` is set) or
    can't be written.
    """
    path = Path(path)
    with new_folder(path, overwrite=overwrite) as folder:
        files = _Files(folder)
        files.write(GRAPH_FILE, [contents.graph.encode()])
        if contents.report:
            files.write(REPORT_FILE, [contents.report.encode()])
        for name, text in contents.sources.items():
            files.write(f"source/{name}", [text.encode()])
        libraries = tuple(
            _write_library(files, contents, k) for k in range(len(contents.libraries))
        )
        tables = tuple(_write_table(files, contents, k) for k in range(len(contents.tables)))
        files.write(WEIGHTS_FILE, contents.weights.chunks())
        weights = WeightsSpec(
            file=WEIGHTS_FILE,
            data_offset=len(contents.weights.header()),
            size=contents.weights.size,
        )
        manifest = Manifest(
            swath_version=VERSION,
            name=contents.name,
            model=dict(contents.model),
            options=dict(contents.options),
            inputs=tuple(contents.inputs),
            outputs=tuple(contents.outputs),
            parameters=tuple(contents.parameters),
            result=contents.result,
            lookups=tuple(contents.lookups),
            libraries=libraries,
            tables=tables,
            weights=weights,
            thread_min_rows=contents.thread_min_rows,
            rows_per_swath=contents.rows_per_swath,
            tolerance=dict(contents.tolerance),
            files=tuple(files.written),
        )
        (folder / MANIFEST_FILE).write_bytes(seal(manifest))
    return path


def library_file(isa: str, sha256: str) -> str:
    """Where a library lies in its artefact.

    Its digest is part of its name because the dynamic linker knows libraries by their path: it
    would take another library that was loaded from the same path for this one.
    """
    return f"lib/{isa}.{sha256[:16]}.so"


class _Files:
    """Writes files below a folder and keeps their sizes and digests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[FileSpec] = []

    def write(self, name: str, chunks: Iterable[bytes | memoryview]) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        size = 0
        with target.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        self.written.append(FileSpec(path=name, size=size, sha256=digest.hexdigest()))


def _write_library(files: _Files, contents: Contents, index: int) -> LibrarySpec:
    library = contents.libraries[index]
    name = library_file(library.isa, hashlib.sha256(library.content).hexdigest())
    files.write(name, [library.content])
    return LibrarySpec(
        isa=library.isa,
        requires=ISA_REQUIREMENTS[library.isa],
        file=name,
        scratch_bytes=library.scratch_bytes,
    )


def _write_table(files: _Files, contents: Contents, index: int) -> TableSpec:
    table = contents.tables[index]
    dtype = table.dtype or cast(DType, table.data.dtype.name)
    name = f"tables/{index}.bin"
    files.write(name, table_chunks(table.data, dtype))
    rows, width = table.data.shape
    return TableSpec(name=table.name, file=name, dtype=dtype, rows=rows, width=width)
