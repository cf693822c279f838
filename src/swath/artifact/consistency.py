"""Whether a manifest makes sense: a program opened from one that passes reads no memory but its
own.

The digests say that an artefact is what its writer wrote; these checks say that the writer wrote
something possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from swath.artifact.manifest import (
    ConstantSource,
    DictNode,
    InputSource,
    InputSpec,
    Leaf,
    ListNode,
    Manifest,
    OutputSpec,
    RowsSource,
    Tree,
    TupleNode,
)
from swath.artifact.tables import item_bytes, table_file_bytes

_MOST_AXES = 30
_ALIGNMENT = 64


def contradictions(manifest: Manifest) -> Iterator[str]:
    """Everything in a manifest that can't be true, in words."""
    yield from _files(manifest)
    yield from _inputs(manifest)
    yield from _outputs(manifest)
    yield from _structures(manifest)
    yield from _lookups(manifest)
    if manifest.rows_per_swath < 1 or manifest.thread_min_rows < 0:
        yield "rows_per_swath is below 1, or thread_min_rows is negative"


def _files(manifest: Manifest) -> Iterator[str]:
    sizes = {file.path: file.size for file in manifest.files}
    for path in sizes:
        if not _is_inside(path):
            yield f"the path {path!r} leaves the folder of the artefact"
    if not manifest.libraries:
        yield "there is no library"
    for library in manifest.libraries:
        if library.file not in sizes:
            yield f"the library {library.file!r} isn't among the files"
    for table in manifest.tables:
        if min(table.rows, table.width) < 0:
            yield f"table {table.name!r} has negative extents"
        elif sizes.get(table.file) != table_file_bytes(table.dtype, table.rows, table.width):
            yield f"table {table.name!r} doesn't fill its file"
    weights = manifest.weights
    if weights.data_offset % _ALIGNMENT or weights.data_offset < _ALIGNMENT or weights.size < 0:
        yield "the weights begin at an impossible place"
    elif sizes.get(weights.file) != weights.data_offset + weights.size:
        yield "the weights don't fill their file"


def _is_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _inputs(manifest: Manifest) -> Iterator[str]:
    by_name = {spec.name: spec for spec in manifest.inputs}
    if len(by_name) != len(manifest.inputs):
        yield "two inputs have one name"
    for spec in manifest.inputs:
        if not _layout_holds(spec):
            yield f"the rows of input {spec.name!r} can't lie as stated"
        if spec.kind in ("rows", "offsets") and spec.batch_axis is None:
            yield f"input {spec.name!r} has rows but no batch axis"
        if spec.kind in ("ragged", "once") and spec.batch_axis is not None:
            yield f"input {spec.name!r} has a batch axis but no rows"
        if spec.kind == "ragged" and not _offsets_hold(by_name.get(spec.offsets or "")):
            yield f"input {spec.name!r} has no offsets that could cut it"


def _offsets_hold(offsets: InputSpec | None) -> bool:
    if offsets is None or offsets.kind != "offsets" or offsets.dtype not in ("int32", "int64"):
        return False
    return len(offsets.row_shape) == 1 and offsets.post == offsets.row_shape[0]


def _layout_holds(spec: InputSpec | OutputSpec) -> bool:
    if len(spec.row_shape) > _MOST_AXES or any(extent < 0 for extent in spec.row_shape):
        return False
    if spec.batch_axis is None:
        return True
    if not 0 <= spec.batch_axis < len(spec.row_shape):
        return False
    multiple = spec.row_shape[spec.batch_axis]
    return multiple >= 1 and spec.post >= 1 and multiple % spec.post == 0


def _outputs(manifest: Manifest) -> Iterator[str]:
    buffers: list[int] = []
    for spec in manifest.outputs:
        if not _layout_holds(spec):
            yield f"the rows of output {spec.name!r} can't lie as stated"
        match spec.source:
            case RowsSource(buffer):
                buffers.append(buffer)
            case ConstantSource(offset):
                size = math.prod(spec.row_shape) * item_bytes(spec.dtype)
                if spec.batch_axis is not None or not 0 <= offset <= manifest.weights.size - size:
                    yield f"the constant output {spec.name!r} lies outside of the weights"
            case InputSource(index):
                if not 0 <= index < len(manifest.inputs):
                    yield f"output {spec.name!r} is an input that doesn't exist"
    if sorted(buffers) != list(range(len(buffers))):
        yield "the buffers of the outputs aren't numbered from 0"


def _structures(manifest: Manifest) -> Iterator[str]:
    given = sorted(
        leaf for parameter in manifest.parameters for leaf in leaves(parameter.structure)
    )
    if given != list(range(len(manifest.inputs))):
        yield "the parameters don't hold every input once"
    if any(not 0 <= leaf < len(manifest.outputs) for leaf in leaves(manifest.result)):
        yield "the result holds an output that doesn't exist"
    names = [parameter.name for parameter in manifest.parameters]
    if len(set(names)) != len(names):
        yield "two parameters have one name"
    keyword_only = [parameter.keyword_only for parameter in manifest.parameters]
    if keyword_only != sorted(keyword_only):
        yield "a parameter by position follows one by keyword only"
    trees = [parameter.structure for parameter in manifest.parameters] + [manifest.result]
    if not all(_keys_match(tree) for tree in trees):
        yield "a dict has more keys than values, or fewer, or one twice"


def leaves(tree: Tree) -> Iterator[int]:
    """The indices of the arrays in a structure, from left to right."""
    match tree:
        case Leaf(index):
            yield index
        case ListNode(items) | TupleNode(items) | DictNode(_, items):
            for item in items:
                yield from leaves(item)
        case _:
            return


def _keys_match(tree: Tree) -> bool:
    match tree:
        case DictNode(keys, items):
            fine = len(keys) == len(items) == len(set(keys))
        case ListNode(items) | TupleNode(items):
            fine = True
        case _:
            return True
    return fine and all(_keys_match(item) for item in items)


def _lookups(manifest: Manifest) -> Iterator[str]:
    inputs = {spec.name for spec in manifest.inputs}
    tables = {table.name for table in manifest.tables}
    for index, lookup in enumerate(manifest.lookups):
        if lookup.input not in inputs or lookup.table not in tables:
            yield f"lookup {index} names an input or a table that doesn't exist"
