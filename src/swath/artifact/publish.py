"""Putting a finished folder in its place: readers see the old artefact or the new one, never half
of one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from swath.errors import InvalidArtifact, Problem, Where

MANIFEST_FILE = "manifest.json"


@contextmanager
def new_folder(path: Path, *, overwrite: bool) -> Generator[Path]:
    """A folder beside `path` to write into; it becomes `path` at the end, or vanishes if an
    exception passes.

    Raises InvalidArtifact where `path` exists and may not be replaced, or can't be written.
    """
    refuse_existing(path, overwrite=overwrite)
    folder = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        folder.mkdir()
        yield folder
        _move(folder, path, overwrite=overwrite)
    except OSError as error:
        raise InvalidArtifact(_unwritable(path, error)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise InvalidArtifact where something is in the way. Only an artefact or an empty folder is
    ever replaced.
    """
    if not path.exists() and not path.is_symlink():
        return
    if path.is_dir() and not any(path.iterdir()):
        return
    if overwrite and (path / MANIFEST_FILE).is_file():
        return
    fix = "choose another path" if overwrite else "choose another path, or pass overwrite=True"
    why = (
        "it isn't an artefact, and replacing it could destroy something else"
        if overwrite
        else "an artefact is never replaced unasked"
    )
    problem = Problem("SW207", f"{path} exists already", why, fix, Where(str(path)))
    raise InvalidArtifact(problem)


def _move(folder: Path, path: Path, *, overwrite: bool) -> None:
    if not (path / MANIFEST_FILE).is_file():
        os.rename(folder, path)  # replaces nothing but an empty folder
        return
    refuse_existing(path, overwrite=overwrite)
    aside = path.parent / f".{path.name}.{secrets.token_hex(8)}.old"
    os.rename(path, aside)
    try:
        os.rename(folder, path)
    except OSError:
        os.rename(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> Problem:
    return Problem(
        "SW208",
        f"the artefact {path} can't be written",
        f"the system says: {error.strerror or error}",
        "make sure that its parent folder exists, may be written to and has room",
        Where(str(path)),
    )
