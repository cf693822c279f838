"""Writing: whole or not at all, nothing replaced unasked, everything aligned."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import swath
from handmade import TABLE
from swath.artifact.contents import Contents, Table
from swath.artifact.reader import read_manifest
from swath.artifact.tables import item_bytes, table_chunks, table_file_bytes
from swath.artifact.weights import WeightsBuilder
from swath.artifact.writer import write_artifact
from swath.errors import InvalidArtifact

SAFETENSORS: Any = importlib.import_module("safetensors.numpy")  # annotated in part


def test_the_folder_holds_what_the_design_says(artefact: Path) -> None:
    manifest = read_manifest(artefact)
    library = manifest.libraries[0]
    assert library.file.startswith("lib/x86-64-v3.")
    files = sorted(str(path.relative_to(artefact)) for path in artefact.rglob("*.*"))
    assert files == [
        "graph.txt",
        library.file,
        "manifest.json",
        "source/library.cpp",
        "tables/0.bin",
        "weights.safetensors",
    ]
    assert (artefact / "graph.txt").read_text() == "graph handmade\n"


def test_the_manifest_is_plain_json(artefact: Path) -> None:
    document = json.loads((artefact / "manifest.json").read_text())
    assert document["manifest"]["name"] == "handmade"
    assert "fma" in document["manifest"]["libraries"][0]["requires"]


def test_the_table_file_is_aligned_and_padded(artefact: Path) -> None:
    content = (artefact / "tables/0.bin").read_bytes()
    assert content[:8] == b"SWATHTBL"
    assert np.array_equal(np.frombuffer(content, np.float32, 50, 64).reshape(10, 5), TABLE)
    assert len(content) == table_file_bytes("float32", 10, 5)
    assert len(content) >= 64 + TABLE.nbytes + 64


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (5, 7), (1, 1)])
def test_tables_of_any_shape(shape: tuple[int, int]) -> None:
    data = np.ones(shape, np.float16)
    size = sum(len(chunk) for chunk in table_chunks(data, "float16"))
    assert size == table_file_bytes("float16", *shape)
    assert size % 64 == 0


def test_table_rows_are_written_in_order_whatever_their_layout() -> None:
    data = np.asfortranarray(np.arange(6_000_000, dtype=np.float32).reshape(-1, 2))
    content = b"".join(table_chunks(data, "float32"))
    assert np.array_equal(np.frombuffer(content, np.float32, data.size, 64), data.ravel())


def test_weights_are_a_safetensors_file_with_aligned_sections(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(3, dtype=np.float32),
        "empty": np.zeros((0, 4), np.float64),
        "bits": np.ones(5, np.bool_),
        "scalar": np.array(7, np.int64),
    }
    weights = WeightsBuilder()
    offsets = {name: weights.add(name, array) for name, array in arrays.items()}
    file = tmp_path / "weights.safetensors"
    file.write_bytes(b"".join(weights.chunks()))
    start = len(weights.header())
    assert file.stat().st_size == start + weights.size
    assert all((start + offset) % 64 == 0 for offset in offsets.values())
    assert weights.size >= offsets["scalar"] + 8 + 64
    loaded: dict[str, NDArray[np.generic]] = SAFETENSORS.load_file(file)
    for name, array in arrays.items():
        assert np.array_equal(loaded[name].ravel(), array.ravel())


def test_bfloat16_weights_keep_their_name() -> None:
    weights = WeightsBuilder()
    weights.add("half", np.ones(4, np.uint16), dtype="bfloat16")
    assert b'"dtype":"BF16"' in weights.header()
    assert item_bytes("bfloat16") == 2


def test_two_weights_of_one_name_are_refused() -> None:
    weights = WeightsBuilder()
    weights.add("w", np.ones(1, np.float32))
    with pytest.raises(ValueError, match="two weights"):
        weights.add("w", np.ones(1, np.float32))


def test_an_artefact_without_weights_is_fine(tmp_path: Path, lookup_contents: Contents) -> None:
    bare = dataclasses.replace(lookup_contents, weights=WeightsBuilder())
    program = swath.load(write_artifact(tmp_path / "bare.swath", bare))
    assert program(np.array([1])).tolist() == [[5, 6, 7, 8, 9]]


def test_nothing_is_replaced_unasked(artefact: Path, lookup_contents: Contents) -> None:
    with pytest.raises(InvalidArtifact, match="SW207"):
        write_artifact(artefact, lookup_contents)
    renamed = dataclasses.replace(lookup_contents, name="second")
    write_artifact(artefact, renamed, overwrite=True)
    assert read_manifest(artefact).name == "second"
    assert [path.name for path in artefact.parent.iterdir()] == [artefact.name]


def test_only_artefacts_are_ever_replaced(tmp_path: Path, lookup_contents: Contents) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")
    file = tmp_path / "file"
    file.write_text("more")
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    for path in (home, file, dangling):
        with pytest.raises(InvalidArtifact, match="SW207"):
            write_artifact(path, lookup_contents, overwrite=True)
    assert (home / "thesis.txt").read_text() == "years of work"


def test_an_empty_folder_is_filled(tmp_path: Path, lookup_contents: Contents) -> None:
    path = tmp_path / "empty"
    path.mkdir()
    assert read_manifest(write_artifact(path, lookup_contents)).name == "handmade"


def test_a_missing_parent_is_named(tmp_path: Path, lookup_contents: Contents) -> None:
    with pytest.raises(InvalidArtifact, match="SW208"):
        write_artifact(tmp_path / "missing" / "model.swath", lookup_contents)


class Breaking(WeightsBuilder):
    """Weights that fail in the middle of being written."""

    def chunks(self) -> Iterator[bytes]:
        yield b"some"
        raise OSError(28, "No space left on device")


def test_a_failure_in_the_middle_leaves_nothing(artefact: Path, lookup_contents: Contents) -> None:
    broken = dataclasses.replace(lookup_contents, weights=Breaking())
    with pytest.raises(InvalidArtifact, match="No space left on device"):
        write_artifact(artefact, broken, overwrite=True)
    assert [path.name for path in artefact.parent.iterdir()] == [artefact.name]
    assert read_manifest(artefact).name == "handmade"


def test_a_running_program_keeps_what_it_opened(artefact: Path, lookup_contents: Contents) -> None:
    program = swath.load(artefact)
    doubled = dataclasses.replace(lookup_contents, tables=[Table("users", 2 * TABLE)])
    write_artifact(artefact, doubled, overwrite=True)
    ids = np.array([1])
    assert program(ids)[0, 0] == 5
    assert swath.load(artefact)(ids)[0, 0] == 10


def test_save_copies_and_the_copy_is_whole(artefact: Path, tmp_path: Path) -> None:
    program = swath.load(artefact)
    saved = program.save(tmp_path / "copy.swath")
    with pytest.raises(InvalidArtifact, match="SW207"):
        program.save(saved)
    program.save(saved, overwrite=True)
    assert swath.load(saved, verify="full")(np.array([9]))[0, 0] == 45
