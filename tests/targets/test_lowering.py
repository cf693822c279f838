"""What lowering makes of a graph: where results are stored, what is refused."""

from __future__ import annotations

import pytest

from swath.errors import InternalError
from swath.graph.ir import Graph
from swath.graph.ops import (
    Cast,
    Concat,
    Iota,
    LayerNorm,
    Linear,
    LookupGroup,
    Reshape,
    Slice,
    Unary,
)
from swath.graph.types import DType
from swath.stages.lowering import lower
from swath.stages.provenance import Provenance, Source
from swath.tile.kernels import Kernel, Lookup, Pointwise, Product
from swath.tile.views import BufferKind
from tests.targets.test_generated import F32, Case


def kernels(graph: Graph) -> list[Kernel]:
    """The kernels of a graph without declared inputs."""
    return lower(graph, lambda _ids, _position: ("error", 0)).kernels


def test_an_op_without_lowering_names_the_pass_developer() -> None:
    case = Case()
    graph = case.builder.build([case.add(LayerNorm(1, 1e-5), case.x(8))])
    with pytest.raises(InternalError, match=r"SW930.*layer_norm") as raised:
        kernels(graph)
    assert "Pass developer" in str(raised.value)


def test_lookups_are_stored_in_their_concatenation() -> None:
    case = Case()
    dense = case.x(13)
    ids = case.x(26, dtype=DType.INT64)
    found = case.add(LookupGroup(), ids, *(case.w(9, 16) for _ in range(26)))
    joined = case.add(Concat(1), case.add(Reshape((1, 416)), found), dense)
    hidden = case.add(Unary("relu"), case.add(Linear(), joined, case.w(64, 429), case.w(64)))
    graph = case.builder.build([hidden])
    lookup, copy, layer = kernels(graph)
    assert isinstance(lookup, Lookup)
    assert isinstance(copy, Pointwise)
    assert isinstance(layer, Product)
    assert lookup.destination.buffer is copy.destination.buffer is layer.left.buffer
    assert copy.destination.offset == 416
    assert layer.destination.buffer.kind is BufferKind.OUTPUT


def test_ids_are_followed_to_their_column() -> None:
    case = Case()
    x = case.x(39)
    ids = case.add(Cast(DType.INT64), case.add(Slice(1, 3, 29), x))
    graph = case.builder.build([case.add(Cast(F32), ids)])
    provenance = Provenance(graph)
    assert provenance.source(ids, slice(4, None, 26)) == Source(x, 7)
    assert provenance.source(case.add(Unary("abs"), x), slice(None)) is None


def test_ids_that_are_made_come_from_no_input() -> None:
    case = Case()
    positions = case.add(Iota(3, 0, 1, DType.INT64))
    graph = case.builder.build([case.add(Cast(F32), positions)])
    assert Provenance(graph).source(positions, slice(None)) is None
