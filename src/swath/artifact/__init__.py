"""The artefact: a folder `name.swath/` with manifest, graph text, generated source, libraries,
weights and tables.
"""

from __future__ import annotations

from swath.artifact.contents import Contents, Library, Table
from swath.artifact.manifest import Manifest
from swath.artifact.reader import read_artifact, read_manifest, verify_artifact
from swath.artifact.weights import WeightsBuilder
from swath.artifact.writer import write_artifact

__all__ = [
    "Contents",
    "Library",
    "Manifest",
    "Table",
    "WeightsBuilder",
    "read_artifact",
    "read_manifest",
    "verify_artifact",
    "write_artifact",
]
