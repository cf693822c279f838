"""Hand-made programs, compiled once per session."""

from __future__ import annotations

from pathlib import Path

import pytest

import handmade
from swath.artifact.writer import write_artifact
from swath.runtime import Program, load


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> handmade.Write:
    """Compiles a hand-made model into an artefact."""

    def written(model: handmade.Model) -> Path:
        folder = tmp_path_factory.mktemp("handmade")
        return write_artifact(folder / "model.swath", handmade.contents(model, folder))

    return written


@pytest.fixture(scope="session")
def scale_path(write: handmade.Write) -> Path:
    return write(handmade.scale_model())


@pytest.fixture
def scale(scale_path: Path) -> Program:
    """y = x.sum(1, keepdims=True) for x of shape [B, 4]."""
    return load(scale_path)


@pytest.fixture(scope="session")
def lookup_path(write: handmade.Write) -> Path:
    return write(handmade.lookup_model())


@pytest.fixture
def lookup(lookup_path: Path) -> Program:
    """y = TABLE[ids] for ids of shape [B]."""
    return load(lookup_path)


@pytest.fixture(scope="session")
def bag_path(write: handmade.Write) -> Path:
    return write(handmade.bag_model())


@pytest.fixture
def bag(bag_path: Path) -> Program:
    """Sums of bags, the last one running to the end of the values."""
    return load(bag_path)


@pytest.fixture(scope="session")
def closed_bag(write: handmade.Write) -> Program:
    """Sums of bags whose offsets include the last."""
    return load(write(handmade.bag_model(include_last_offset=True)))


@pytest.fixture(scope="session")
def nested(write: handmade.Write) -> Program:
    """forward(self, pair, features, *, scale=2.0, mode=None) with nested inputs and outputs."""
    return load(write(handmade.nested_model()))
