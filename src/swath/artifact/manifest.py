"""The manifest of an artefact: what the compiler states and the runtime relies on.

All structs are frozen, are checked field by field when read, and hold only data. "Row shape" is
the shape of one row with the batch axis kept as an axis of per-row length k (normally 1): `x[B,
26, 16]` has row shape `(1, 26, 16)`, and the same values reshaped to `[B * 26, 16]` have row shape
`(26, 16)`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

FORMAT_VERSION = 1
ABI_VERSION = 1

DType = Literal[
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"
]

Scalar = bool | int | float | str | None

ISA_REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": (
        "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe",
        "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
    ),
}  # fmt: skip
"""The CPU features that a library of each ISA needs, as the runtime names them."""


class InputSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One input leaf.

    kind     "rows"     `row_shape` per row; the batch axis is `batch_axis`
             "ragged"   the values of a ragged column, 1-D; `offsets` names the input that cuts
                        them into bags
             "offsets"  the offsets of a ragged column, 1-D: one per bag, and one more if
                        `include_last_offset`
             "once"     no batch axis: the same for all rows; `row_shape` is the whole shape
    post     on the batch axis the rows lie as [pre, B, post], and pre * post is the length of that
             axis in `row_shape`
    """

    name: str
    dtype: DType
    row_shape: tuple[int, ...]
    batch_axis: int | None = 0
    post: int = 1
    kind: Literal["rows", "ragged", "offsets", "once"] = "rows"
    offsets: str | None = None
    include_last_offset: bool = False

    @property
    def rows_multiple(self) -> int:
        """Length of the batch axis for one row (1 where there is no batch axis)."""
        return 1 if self.batch_axis is None else self.row_shape[self.batch_axis]


class ConstantSource(Struct, frozen=True, forbid_unknown_fields=True, tag="constant"):
    """An output that doesn't depend on the inputs: `row_shape` elements at `offset` bytes into the
    weights.
    """

    offset: int


class InputSource(Struct, frozen=True, forbid_unknown_fields=True, tag="input"):
    """An output that is an input handed through, by its index."""

    index: int


class RowsSource(Struct, frozen=True, forbid_unknown_fields=True, tag="rows"):
    """An output that the library computes; `buffer` is its index among `swath_call.outputs`."""

    buffer: int


OutputSource = RowsSource | ConstantSource | InputSource


class OutputSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One output leaf; `batch_axis` and `post` as for an input."""

    name: str
    dtype: DType
    row_shape: tuple[int, ...]
    batch_axis: int | None = 0
    post: int = 1
    source: OutputSource


class Leaf(Struct, frozen=True, forbid_unknown_fields=True, tag="leaf"):
    """An array: the index of an input or output."""

    index: int


class ListNode(Struct, frozen=True, forbid_unknown_fields=True, tag="list"):
    """A list."""

    items: tuple[Tree, ...]


class TupleNode(Struct, frozen=True, forbid_unknown_fields=True, tag="tuple"):
    """A tuple."""

    items: tuple[Tree, ...]


class DictNode(Struct, frozen=True, forbid_unknown_fields=True, tag="dict"):
    """A dict with string keys, in order. Named tuples and dataclasses become dicts."""

    keys: tuple[str, ...]
    items: tuple[Tree, ...]


class Constant(Struct, frozen=True, forbid_unknown_fields=True, tag="constant"):
    """None or a Python number or string that was fixed when the model was compiled."""

    value: Scalar


Tree = Leaf | ListNode | TupleNode | DictNode | Constant
"""How inputs or outputs nest."""


class Parameter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parameter of the model's forward, in order; one that isn't `required` may be left out of a
    call.
    """

    name: str
    structure: Tree
    keyword_only: bool = False
    required: bool = True


class LibrarySpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One compiled library; the runtime takes the last one whose `requires` the CPU has."""

    isa: str
    requires: tuple[str, ...]
    file: str
    scratch_bytes: int


class TableSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An embedding table, row-major [rows, width], in a file of its own behind a 64-byte header."""

    name: str
    file: str
    dtype: DType
    rows: int
    width: int


class WeightsSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The weights: `size` bytes from `data_offset` bytes into the file, both multiples of 64."""

    file: str
    data_offset: int
    size: int


class LookupSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the ids of a lookup come from, so that an id outside of its table can be told in the
    user's words.

    `column` is the place of the id within the row of the input (flat), or None where all of the
    row are ids.
    """

    input: str
    column: int | None
    table: str
    rows: int


class FileSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of the artefact (path relative to its folder), its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything about an artefact but its bytes."""

    format_version: int = FORMAT_VERSION
    abi_version: int = ABI_VERSION
    swath_version: str
    name: str
    model: dict[str, Any]
    """Where it came from (class, torch version, ...); for people, never read by the runtime."""
    options: dict[str, Any]
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    parameters: tuple[Parameter, ...]
    result: Tree
    lookups: tuple[LookupSpec, ...]
    libraries: tuple[LibrarySpec, ...]
    tables: tuple[TableSpec, ...]
    weights: WeightsSpec
    thread_min_rows: int
    """Calls with fewer rows run on the caller's thread alone."""
    rows_per_swath: int
    """Rows that the library carries through the model at once; no thread takes more at a time."""
    tolerance: dict[str, float]
    """Stated difference from eager: {"absolute": ..., "relative": ...}."""
    files: tuple[FileSpec, ...]
