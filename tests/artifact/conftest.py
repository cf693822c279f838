"""An artefact to read, damage and rewrite."""

from __future__ import annotations

from pathlib import Path

import pytest

import handmade
from swath.artifact.contents import Contents
from swath.artifact.writer import write_artifact


@pytest.fixture(scope="session")
def lookup_contents(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    """A whole artefact with a table, not yet written."""
    return handmade.contents(handmade.lookup_model(), tmp_path_factory.mktemp("library"))


@pytest.fixture
def artefact(tmp_path: Path, lookup_contents: Contents) -> Path:
    """A fresh artefact with a table, for the test to damage."""
    return write_artifact(tmp_path / "model.swath", lookup_contents)
