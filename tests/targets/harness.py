"""Generated code on a graph in row form, called through the C ABI without the runtime."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.artifact.weights import WeightsBuilder
from swath.graph.ir import Graph
from swath.graph.types import Space
from swath.options import Options
from swath.stages.lowering import lower
from swath.stages.program import make_program
from swath.targets.cpu.build import build_libraries, find_compiler, write_sources
from swath.targets.cpu.write_program import write_program

Array = npt.NDArray[Any]
PADDING = 64


class Fault(ctypes.Structure):
    """swath_fault."""

    _fields_ = [(name, ctypes.c_int64) for name in ("kind", "lookup", "row", "value")]


class Call(ctypes.Structure):
    """swath_call."""

    _fields_ = [
        ("inputs", ctypes.POINTER(ctypes.c_void_p)),
        ("input_row_bytes", ctypes.POINTER(ctypes.c_int64)),
        ("input_extents", ctypes.POINTER(ctypes.c_int64)),
        ("outputs", ctypes.POINTER(ctypes.c_void_p)),
        ("weights", ctypes.c_void_p),
        ("tables", ctypes.POINTER(ctypes.c_void_p)),
        ("rows", ctypes.c_int64),
        ("row_begin", ctypes.c_int64),
        ("row_end", ctypes.c_int64),
        ("scratch", ctypes.c_void_p),
        ("fault", ctypes.POINTER(Fault)),
    ]


class Generated:
    """A graph in row form as a compiled library.

    `policy` is (policy, default row) of every lookup; `extra` are more flags for the compiler.
    """

    def __init__(
        self,
        graph: Graph,
        isa: str = "x86-64-v3",
        *,
        rows_per_swath: int = 0,
        policy: tuple[str, int] = ("error", 0),
        extra: Sequence[str] = ("-O1",),
    ) -> None:
        self.graph = graph
        self.state = lower(graph, lambda _ids, _position: policy)
        builder = WeightsBuilder()
        offsets = {b: builder.add(b.name, a) for b, a in self.state.weights.arrays.items()}
        self.program = make_program(self.state, offsets, Options(rows_per_swath=rows_per_swath))
        self.source = write_program(self.program, "test")
        with tempfile.TemporaryDirectory() as folder:
            path = write_sources(Path(folder), self.source)
            built = build_libraries(path, Path(folder), [isa], find_compiler(), extra)
            self.library = ctypes.CDLL(str(built[isa]))
        self.weights = np.zeros(builder.size + 64, np.uint8)
        for buffer, array in self.state.weights.arrays.items():
            raw = array.reshape(-1).view(np.uint8)
            self.weights[offsets[buffer] : offsets[buffer] + len(raw)] = raw
        self.tables = [padded(table) for table in self.state.weights.tables.values()]
        self.fault = Fault()

    def __call__(self, inputs: Sequence[Array], rows: int) -> list[Array]:
        """Inputs are [rows, *row shape] (ragged and once ones as they are)."""
        outputs = [
            np.full((rows, *v.type.static_shape), 123, v.type.dtype.numpy)
            for v in self.graph.outputs
        ]
        inputs = [np.ascontiguousarray(x) for x in inputs]
        without_rows = [
            v.type.space is Space.ONCE or any(not isinstance(d, int) for d in v.type.shape)
            for v in self.graph.inputs
        ]
        scratch = np.zeros(self.program.scratch_bytes + PADDING + 64, np.uint8)
        start = -scratch.ctypes.data % 64
        self.fault = Fault()
        row_bytes = [
            0 if without else x.nbytes // max(1, rows)
            for x, without in zip(inputs, without_rows, strict=True)
        ]
        call = Call(
            _pointers(inputs),
            _longs(row_bytes),
            _longs([x.shape[0] if x.ndim else 1 for x in inputs]),
            _pointers(outputs),
            self.weights.ctypes.data,
            _pointers(self.tables),
            rows,
            0,
            rows,
            scratch.ctypes.data + start,
            ctypes.pointer(self.fault),
        )
        self.library.swath_run(ctypes.byref(call))
        return outputs


def padded(array: Array) -> Array:
    """A copy with readable bytes behind it."""
    raw = np.zeros(array.nbytes + PADDING, np.uint8)
    raw[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return raw


def _pointers(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))


def _longs(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(1, len(values)))(*values)
