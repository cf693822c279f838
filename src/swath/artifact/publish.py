"""Putting a finished folder in its place: readers see the old artefact or the new one, never half
of one.
"""

from __future__ import annotations

import os
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
    folder = path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"
    try:
        folder.mkdir()
        yield folder
        _move(folder, path, overwrite=overwrite)
    except OSError as error:
        raise InvalidArtifact(_unwritable(path, error)) from error
    finally:
        remove_folder(folder)


def copy_artifact(source: Path, path: str | Path, *, overwrite: bool, link: bool) -> Path:
    """Copy an artefact to `path`, all of it or nothing; `link` shares the files with a source that
    won't change.

    Raises InvalidArtifact like `write_artifact`.
    """
    path = Path(path)
    with new_folder(path, overwrite=overwrite) as folder:
        for file in sorted(source.rglob("*")):
            target = folder / file.relative_to(source)
            if file.is_dir():
                target.mkdir(exist_ok=True)
            elif not (link and _linked(file, target)):
                _copy(file, target)
    return path


def remove_folder(folder: Path) -> None:
    """Remove a folder and all in it, as far as possible."""
    import shutil  # takes milliseconds, and whoever only loads artefacts needs none of it

    shutil.rmtree(folder, ignore_errors=True)


def _copy(file: Path, target: Path) -> None:
    import shutil  # as above

    shutil.copyfile(file, target)


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
    aside = path.parent / f".{path.name}.{os.urandom(8).hex()}.old"
    os.rename(path, aside)
    try:
        os.rename(folder, path)
    except OSError:
        os.rename(aside, path)
        raise
    remove_folder(aside)


def _unwritable(path: Path, error: OSError) -> Problem:
    return Problem(
        "SW208",
        f"the artefact {path} can't be written",
        f"the system says: {error.strerror or error}",
        "make sure that its parent folder exists, may be written to and has room",
        Where(str(path)),
    )


def _linked(file: Path, target: Path) -> bool:
    try:
        os.link(file, target)
    except OSError:
        return False  # another file system
    return True
