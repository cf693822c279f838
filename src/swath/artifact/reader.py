"""Reading an artefact: nothing of it is used before it has been checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from swath.artifact.consistency import contradictions
from swath.artifact.envelope import FormatVersion, unseal
from swath.artifact.manifest import ABI_VERSION, FORMAT_VERSION, FileSpec, Manifest
from swath.artifact.publish import MANIFEST_FILE
from swath.artifact.tables import HEADER_BYTES, header_matches
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
    for file in manifest.files:
        problem = _file_problem(folder, file, digest=full or file.path in digested)
        if problem is not None:
            yield problem
    for table in manifest.tables:
        target = folder / table.file
        if target.is_file() and not header_matches(_start(target, HEADER_BYTES), table):
            yield _altered(target, "its header isn't that of the table")


def _file_problem(folder: Path, file: FileSpec, *, digest: bool) -> Problem | None:
    target = folder / file.path
    try:
        if not target.is_file():
            return _missing(target, "it isn't there")
        size = target.stat().st_size
        if size != file.size:
            return _missing(target, f"it has {size} bytes instead of {file.size}")
        if digest and _digest(target) != file.sha256:
            return _altered(target, "its bytes don't have the digest that the manifest states")
    except OSError as error:
        return _missing(target, f"the system says: {error.strerror or error}")
    return None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _start(path: Path, size: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        return file.read(size)


def _no_artefact(folder: Path, error: OSError) -> Problem:
    return Problem(
        "SW201",
        f"{folder} isn't a swath artefact",
        f"its {MANIFEST_FILE} can't be read: {error.strerror or error}",
        "give the folder that `program.save(path)` or `swath compile` wrote",
        Where(str(folder)),
    )


def _missing(file: Path, why: str) -> Problem:
    return Problem(
        "SW202",
        f"the file {file.name} of the artefact is missing or cut",
        why,
        _AGAIN,
        Where(str(file)),
    )


def _altered(file: Path, why: str) -> Problem:
    return Problem(
        "SW203", f"the file {file.name} of the artefact was altered", why, _AGAIN, Where(str(file))
    )


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
