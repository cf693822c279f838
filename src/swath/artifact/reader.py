"""Reading an artefact: nothing of it is used before it has been checked."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from swath.artifact.consistency import contradictions
from swath.artifact.envelope import FormatVersion, unseal
from swath.artifact.manifest import ABI_VERSION, FORMAT_VERSION, FileSpec, Manifest
from swath.artifact.publish import MANIFEST_FILE
from swath.artifact.tables import table_header
from swath.errors import InvalidArtifact, Problem, Where

Verify = Literal["default", "full"]

TABLE_BYTES_AT_LOAD = 64 << 20
"""So many bytes of tables are digested at load, smallest tables first; the rest is checked by size
and header.
"""

_CHUNK_BYTES = 1 << 20
_AGAIN = "copy the artefact again from where it was made, or compile the model again"


def read_artifact(path: str | Path, *, verify: Verify = "default") -> Manifest:
    """Check an artefact and return its manifest.

    With `verify="full"` the digest of every file is checked, whatever its size.
    Raises InvalidArtifact with the first problem.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    for problem in _damage(folder, manifest, full=verify == "full"):
        raise InvalidArtifact(problem)
    return manifest


def verify_artifact(path: str | Path) -> list[Problem]:
    """Check every byte of an artefact; returns all problems, none for one that is whole."""
    folder = Path(path)
    try:
        manifest = read_manifest(folder)
    except InvalidArtifact as error:
        return [error.problem]
    return list(_damage(folder, manifest, full=True))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an artefact, checked by itself. Raises InvalidArtifact."""
    file = folder / MANIFEST_FILE
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidArtifact(_no_artefact(folder, error)) from error
    body = unseal(content)
    if body is None:
        raise InvalidArtifact(
            _damaged_manifest(file, "its bytes don't have the digest that it states")
        )
    try:
        version = msgspec.json.decode(body, type=FormatVersion).format_version
        if version != FORMAT_VERSION:
            raise InvalidArtifact(_other_version(file, "format", version, FORMAT_VERSION))
        manifest = msgspec.json.decode(body, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidArtifact(_damaged_manifest(file, str(error))) from error
    if manifest.abi_version != ABI_VERSION:
        raise InvalidArtifact(_other_version(file, "ABI", manifest.abi_version, ABI_VERSION))
    for contradiction in contradictions(manifest):
        raise InvalidArtifact(_impossible_manifest(file, contradiction))
    return manifest


def files_digested_at_load(manifest: Manifest) -> frozenset[str]:
    """Paths of the files whose digest is checked at every load; the others are tables beyond the
    budget.
    """
    tables = {table.file for table in manifest.tables}
    checked = {file.path for file in manifest.files if file.path not in tables}
    budget = TABLE_BYTES_AT_LOAD
    for file in sorted(
        (file for file in manifest.files if file.path in tables), key=lambda file: file.size
    ):
        budget -= file.size
        if budget < 0:
            break
        checked.add(file.path)
    return frozenset(checked)


def _damage(folder: Path, manifest: Manifest, *, full: bool) -> Iterator[Problem]:
    digested = files_digested_at_load(manifest)
    headers = {
        table.file: table_header(table.dtype, table.rows, table.width) for table in manifest.tables
    }
    for file in manifest.files:
        # Strings and descriptors: with thousands of tables, Path objects would take most of a load.
        target = f"{folder}/{file.path}"
        digest = full or file.path in digested
        problem = _file_problem(target, file, headers.get(file.path, b""), digest=digest)
        if problem is not None:
            yield problem


def _file_problem(target: str, file: FileSpec, header: bytes, *, digest: bool) -> Problem | None:
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return _missing(target, f"the system says: {error.strerror}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return _missing(target, "it isn't a file")
        if status.st_size != file.size:
            return _missing(target, f"it has {status.st_size} bytes instead of {file.size}")
        if os.pread(descriptor, len(header), 0) != header:
            return _altered(target, "its header isn't that of the table")
        if digest and _digest(descriptor) != file.sha256:
            return _altered(target, "its bytes don't have the digest that the manifest states")
    except OSError as error:
        return _missing(target, f"the system says: {error.strerror}")
    finally:
        os.close(descriptor)
    return None


def _digest(descriptor: int) -> str:
    digest = hashlib.sha256()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _no_artefact(folder: Path, error: OSError) -> Problem:
    return Problem(
        "SW201",
        f"{folder} isn't a swath artefact",
        f"its {MANIFEST_FILE} can't be read: {error.strerror or error}",
        "give the folder that `program.save(path)` or `swath compile` wrote",
        Where(str(folder)),
    )


def _missing(file: str, why: str) -> Problem:
    what = f"the file {os.path.basename(file)} of the artefact is missing or cut"
    return Problem("SW202", what, why, _AGAIN, Where(file))


def _altered(file: str, why: str) -> Problem:
    what = f"the file {os.path.basename(file)} of the artefact was altered"
    return Problem("SW203", what, why, _AGAIN, Where(file))


def _other_version(file: Path, what: str, found: int, known: int) -> Problem:
    fix = (
        "upgrade swath, or compile the model again with this version"
        if found > known
        else "compile the model again with this version of swath"
    )
    return Problem(
        "SW204",
        f"the artefact has {what} version {found}",
        f"this version of swath reads {what} version {known} only",
        fix,
        Where(str(file)),
    )


def _damaged_manifest(file: Path, why: str) -> Problem:
    return Problem(
        "SW205", "the manifest of the artefact is damaged", why, _AGAIN, Where(str(file))
    )


def _impossible_manifest(file: Path, why: str) -> Problem:
    return Problem(
        "SW206",
        "the manifest of the artefact contradicts itself",
        why,
        "compile the model again; if that doesn't help, report it with the manifest",
        Where(str(file)),
    )
