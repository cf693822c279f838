"""No damaged, foreign or contradictory artefact is ever opened."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import swath
from swath.artifact import reader
from swath.artifact.contents import Contents, Table
from swath.artifact.envelope import seal, seal_json
from swath.artifact.manifest import (
    ConstantSource,
    InputSource,
    InputSpec,
    Leaf,
    Manifest,
    RowsSource,
    TupleNode,
)
from swath.artifact.reader import read_artifact, read_manifest, verify_artifact
from swath.artifact.writer import write_artifact
from swath.errors import InvalidArtifact


def files_of(artefact: Path) -> list[Path]:
    return sorted(path for path in artefact.rglob("*") if path.is_file())


def refused(artefact: Path) -> str:
    """The id with which loading is refused."""
    with pytest.raises(InvalidArtifact) as caught:
        swath.load(artefact)
    return caught.value.problem.id


def flip(file: Path, position: int, bits: int = 1) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= bits
    file.write_bytes(content)


def rewrite(artefact: Path, **changes: Any) -> None:
    """Replace fields of the manifest, with a digest that fits."""
    manifest = msgspec.structs.replace(read_manifest(artefact), **changes)
    (artefact / "manifest.json").write_bytes(seal(manifest))


def test_a_whole_artefact_is_read(artefact: Path) -> None:
    assert read_artifact(artefact, verify="full").name == "handmade"
    assert verify_artifact(artefact) == []


def test_every_byte_of_the_manifest_is_guarded(artefact: Path) -> None:
    file = artefact / "manifest.json"
    whole = file.read_bytes()
    for position in range(len(whole)):
        content = bytearray(whole)
        content[position] ^= 1 << (position % 8)
        file.write_bytes(content)
        with pytest.raises(InvalidArtifact):
            read_manifest(artefact)


def test_any_byte_flipped_in_any_file_is_refused(artefact: Path) -> None:
    random_positions = random.Random(7)
    for file in files_of(artefact):
        whole = file.read_bytes()
        inside = [random_positions.randrange(len(whole)) for _ in range(40)]
        for position in [0, len(whole) - 1, *inside]:
            flip(file, position, 1 << random_positions.randrange(8))
            with pytest.raises(InvalidArtifact):
                read_artifact(artefact)
            file.write_bytes(whole)
    assert read_artifact(artefact)


def test_every_file_truncated_is_refused(artefact: Path) -> None:
    for file in files_of(artefact):
        whole = file.read_bytes()
        for size in {0, 1, len(whole) // 2, len(whole) - 1}:
            file.write_bytes(whole[:size])
            with pytest.raises(InvalidArtifact):
                read_artifact(artefact)
        file.write_bytes(whole + b"\0")
        with pytest.raises(InvalidArtifact):
            read_artifact(artefact)
        file.write_bytes(whole)


def test_every_file_missing_or_a_folder_is_refused(artefact: Path) -> None:
    for file in files_of(artefact):
        whole = file.read_bytes()
        file.unlink()
        with pytest.raises(InvalidArtifact):
            read_artifact(artefact)
        file.mkdir()
        with pytest.raises(InvalidArtifact):
            read_artifact(artefact)
        file.rmdir()
        file.write_bytes(whole)


def test_a_pipe_in_place_of_a_file_is_refused(artefact: Path) -> None:
    (artefact / "graph.txt").unlink()
    os.mkfifo(artefact / "graph.txt")
    assert refused(artefact) == "SW202"


def test_verify_lists_all_damage_at_once(artefact: Path) -> None:
    (artefact / "graph.txt").unlink()
    flip(artefact / "weights.safetensors", 70)
    flip(artefact / "tables/0.bin", 8)
    assert [problem.id for problem in verify_artifact(artefact)] == [
        "SW202",
        "SW203",
        "SW203",
    ]
    flip(artefact / "manifest.json", 90)
    assert [problem.id for problem in verify_artifact(artefact)] == ["SW205"]


def test_what_is_no_artefact_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing") == "SW201"
    assert refused(tmp_path) == "SW201"
    file = tmp_path / "model.pt2"
    file.write_bytes(b"PK")
    assert refused(file) == "SW201"
    (tmp_path / "manifest.json").write_text('{"name": "of another program"}')
    assert refused(tmp_path) == "SW205"


def test_other_versions_are_refused(artefact: Path) -> None:
    rewrite(artefact, format_version=2)
    assert refused(artefact) == "SW204"
    with pytest.raises(InvalidArtifact, match="upgrade swath"):
        read_artifact(artefact)


def test_another_abi_is_refused(artefact: Path) -> None:
    rewrite(artefact, abi_version=0)
    assert refused(artefact) == "SW204"


def test_a_manifest_of_another_schema_is_refused(artefact: Path) -> None:
    manifest = msgspec.to_builtins(read_manifest(artefact))
    manifest["surprise"] = 1
    (artefact / "manifest.json").write_bytes(seal_json(msgspec.json.encode(manifest)))
    assert refused(artefact) == "SW205"


def test_a_manifest_that_nests_without_end_is_refused(artefact: Path) -> None:
    manifest = msgspec.to_builtins(read_manifest(artefact))
    text = msgspec.json.encode(manifest).replace(
        b'"result":', b'"result":' + b'{"type":"tuple","items":[' * 20000, 1
    )
    (artefact / "manifest.json").write_bytes(seal_json(text))
    assert refused(artefact) == "SW205"


def changed_input(**changes: Any) -> Callable[[Manifest], dict[str, Any]]:
    return lambda manifest: {"inputs": (msgspec.structs.replace(manifest.inputs[0], **changes),)}


def changed_output(**changes: Any) -> Callable[[Manifest], dict[str, Any]]:
    return lambda manifest: {"outputs": (msgspec.structs.replace(manifest.outputs[0], **changes),)}


def changed_first(field: str, **changes: Any) -> Callable[[Manifest], dict[str, Any]]:
    return lambda manifest: {
        field: (msgspec.structs.replace(getattr(manifest, field)[0], **changes),)
    }


CONTRADICTIONS: dict[str, Callable[[Manifest], dict[str, Any]]] = {
    "path leaves the folder": changed_first("files", path="../graph.txt"),
    "absolute path": changed_first("files", path="/etc/passwd"),
    "no library": lambda _: {"libraries": ()},
    "library that isn't a file of it": changed_first("libraries", file="lib/other.so"),
    "table larger than its file": changed_first("tables", rows=1 << 40),
    "table of negative extent": changed_first("tables", rows=-10, width=-5),
    "table with another dtype": changed_first("tables", dtype="float64"),
    "weights beyond their file": lambda manifest: {
        "weights": msgspec.structs.replace(manifest.weights, size=1 << 40)
    },
    "weights at an odd place": lambda manifest: {
        "weights": msgspec.structs.replace(manifest.weights, data_offset=8)
    },
    "two inputs of one name": lambda manifest: {"inputs": manifest.inputs * 2},
    "batch axis beyond the rank": changed_input(batch_axis=3),
    "rows without a batch axis": changed_input(batch_axis=None),
    "batch axis of length 0": changed_input(row_shape=(0,)),
    "post that doesn't divide": changed_input(row_shape=(6,), post=4),
    "negative extent": changed_input(row_shape=(1, -4)),
    "too many axes": changed_input(row_shape=(1,) * 60),
    "ragged without offsets": changed_input(kind="ragged", batch_axis=None, row_shape=(1,)),
    "once with a batch axis": changed_input(kind="once"),
    "constant beyond the weights": changed_output(
        batch_axis=None, source=ConstantSource(offset=1 << 40)
    ),
    "constant before the weights": changed_output(
        batch_axis=None, source=ConstantSource(offset=-64)
    ),
    "output from an input that isn't there": changed_output(source=InputSource(index=5)),
    "buffer that isn't there": changed_output(source=RowsSource(buffer=1)),
    "lookup of an unknown table": changed_first("lookups", table="other"),
    "lookup of an unknown input": changed_first("lookups", input="other"),
    "result beyond the outputs": lambda _: {"result": TupleNode(items=(Leaf(index=3),))},
    "parameter twice": lambda manifest: {"parameters": manifest.parameters * 2},
    "input that no parameter holds": lambda manifest: {
        "inputs": (*manifest.inputs, InputSpec(name="more", dtype="int64", row_shape=(1,)))
    },
    "no rows in a swath": lambda _: {"rows_per_swath": 0},
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused(artefact: Path, name: str) -> None:
    rewrite(artefact, **CONTRADICTIONS[name](read_manifest(artefact)))
    assert refused(artefact) == "SW206"


def test_large_tables_are_checked_by_size_and_header_or_in_full(
    artefact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "TABLE_BYTES_AT_LOAD", 100)
    table = artefact / "tables/0.bin"
    whole = table.read_bytes()
    flip(table, 80)
    assert read_artifact(artefact)
    with pytest.raises(InvalidArtifact, match="SW203"):
        read_artifact(artefact, verify="full")
    for position in (0, 9, 12, 16, 24, 63):
        table.write_bytes(whole)
        flip(table, position)
        assert refused(artefact) == "SW203"
    table.write_bytes(whole[:-1])
    assert refused(artefact) == "SW202"


def test_the_smallest_tables_are_digested_first(
    tmp_path: Path, lookup_contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [*lookup_contents.tables]
    tables += [Table(f"t{rows}", np.ones((rows, 16), np.float32)) for rows in (100, 10, 50)]
    many = dataclasses.replace(lookup_contents, tables=tables)
    artefact = write_artifact(tmp_path / "many.swath", many)
    monkeypatch.setattr(reader, "TABLE_BYTES_AT_LOAD", 2000)
    digested = reader.files_digested_at_load(read_manifest(artefact))
    assert {name for name in digested if name.startswith("tables")} == {
        "tables/0.bin",
        "tables/2.bin",
    }


def test_an_artefact_can_be_moved(artefact: Path, tmp_path: Path) -> None:
    moved = shutil.move(artefact, tmp_path / "elsewhere.swath")
    assert swath.load(moved)(np.array([3])).tolist() == [[15, 16, 17, 18, 19]]
