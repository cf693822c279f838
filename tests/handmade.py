"""Small artefacts written by hand, for testing the format and the runtime without the compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import swath.runtime
from swath.artifact.contents import Contents, Library, Table
from swath.artifact.manifest import (
    Constant,
    ConstantSource,
    DictNode,
    InputSource,
    InputSpec,
    Leaf,
    ListNode,
    LookupSpec,
    OutputSpec,
    Parameter,
    RowsSource,
    Tree,
    TupleNode,
)
from swath.artifact.weights import WeightsBuilder

ABI_FOLDER = Path(swath.runtime.__file__).parent / "abi"

PRELUDE = """
#include "swath_abi.h"
extern "C" swath_int32 swath_abi_version(void) { return ABI; }
extern "C" swath_int64 swath_scratch_bytes(void) { return SCRATCH; }
extern "C" swath_int32 swath_run(const swath_call* call) {
  for (swath_int64 row = call->row_begin; row < call->row_end; ++row) {
BODY
  }
  return 0;
}
"""


def compile_library(body: str, folder: Path, *, abi: int = 1, scratch: int = 256) -> bytes:
    """A library that runs `body` for every `row` of the slice."""
    text = PRELUDE.replace("ABI;", f"{abi};").replace("SCRATCH", str(scratch)).replace("BODY", body)
    source, library = folder / "library.cpp", folder / "library.so"
    source.write_text(text)
    command = ["g++", "-O2", "-shared", "-fPIC", f"-I{ABI_FOLDER}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library.read_bytes()


@dataclass(frozen=True, kw_only=True)
class Model:
    """A hand-made model: the body of its row loop, and what the manifest says."""

    body: str
    inputs: Sequence[InputSpec]
    outputs: Sequence[OutputSpec]
    parameters: Sequence[Parameter] | None = None
    result: Tree = field(default_factory=lambda: Leaf(0))
    tables: Sequence[Table] = ()
    lookups: Sequence[LookupSpec] = ()
    weights: NDArray[Any] = field(default_factory=lambda: np.arange(4, dtype=np.float32))
    thread_min_rows: int = 64
    rows_per_swath: int = 16


Write = Callable[[Model], Path]
"""The fixture `write`: compiles a model into an artefact."""


def contents(model: Model, folder: Path, **library: int) -> Contents:
    """What the compiler would hand over for a model."""
    weights = WeightsBuilder()
    weights.add("weights", model.weights)
    parameters = model.parameters
    if parameters is None:
        parameters = [
            Parameter(name=spec.name, structure=Leaf(index))
            for index, spec in enumerate(model.inputs)
        ]
    content = compile_library(model.body, folder, **library)
    return Contents(
        name="handmade",
        model={"class": "Handmade"},
        options={},
        inputs=model.inputs,
        outputs=model.outputs,
        parameters=parameters,
        result=model.result,
        lookups=model.lookups,
        libraries=[Library("x86-64-v3", content, library.get("scratch", 256))],
        tables=model.tables,
        weights=weights,
        graph="graph handmade\n",
        sources={"library.cpp": model.body},
        thread_min_rows=model.thread_min_rows,
        rows_per_swath=model.rows_per_swath,
        tolerance={"absolute": 1e-5, "relative": 1e-4},
    )


def scale_model(width: int = 4) -> Model:
    """y[row] = sum of x[row] times weights[1], in one output of shape [B, 1]."""
    body = f"""
    const float* x = (const float*)((const char*)call->inputs[0] + row * call->input_row_bytes[0]);
    float sum = 0;
    for (int i = 0; i < {width}; ++i) sum += x[i];
    ((float*)call->outputs[0])[row] = sum * ((const float*)call->weights)[1];
    """
    return Model(
        body=body,
        inputs=[InputSpec(name="x", dtype="float32", row_shape=(1, width))],
        outputs=[
            OutputSpec(name="y", dtype="float32", row_shape=(1, 1), source=RowsSource(buffer=0))
        ],
    )


TABLE = np.arange(50, dtype=np.float32).reshape(10, 5)


def lookup_model() -> Model:
    """y[row] = table[ids[row]], with a fault for an id outside of the table."""
    body = """
    const long* ids = (const long*)((const char*)call->inputs[0] + row * call->input_row_bytes[0]);
    swath_int64 id = ids[0];
    if (id < 0 || id >= 10) {
      swath_fault fault = {SWATH_FAULT_ID_RANGE, 0, row, id};
      *call->fault = fault;
      return 1;
    }
    for (int i = 0; i < 5; ++i) {
      ((float*)call->outputs[0])[row * 5 + i] = ((const float*)call->tables[0])[id * 5 + i];
    }
    """
    return Model(
        body=body,
        inputs=[InputSpec(name="ids", dtype="int64", row_shape=(1,))],
        outputs=[
            OutputSpec(name="y", dtype="float32", row_shape=(1, 5), source=RowsSource(buffer=0))
        ],
        tables=[Table("users", TABLE)],
        lookups=[LookupSpec(input="ids", column=0, table="users", rows=10)],
    )


def bag_model(*, include_last_offset: bool = False) -> Model:
    """y[row] = sum of the values of the bag `row`."""
    end = (
        "offsets[row + 1]" if include_last_offset else "row + 1 < call->rows ? offsets[row + 1] : n"
    )
    body = f"""
    const double* values = (const double*)call->inputs[0];
    const long* offsets = (const long*)call->inputs[1];
    swath_int64 n = call->input_extents[0];
    double sum = 0;
    swath_int64 end = {end};
    for (swath_int64 i = offsets[row]; i < end; ++i) sum += values[i];
    ((double*)call->outputs[0])[row] = sum + 0 * n;
    """
    return Model(
        body=body,
        inputs=[
            InputSpec(
                name="values",
                dtype="float64",
                row_shape=(1,),
                batch_axis=None,
                kind="ragged",
                offsets="offsets",
            ),
            InputSpec(
                name="offsets",
                dtype="int64",
                row_shape=(1,),
                kind="offsets",
                include_last_offset=include_last_offset,
            ),
        ],
        outputs=[
            OutputSpec(name="y", dtype="float64", row_shape=(1,), source=RowsSource(buffer=0))
        ],
    )


def axes_model() -> Model:
    """Rows that lie inside other axes.

    x is [3, 2*B] with rows as [3, pre 2, B]; y is [2, B*2] with rows as [2, B, post 2]; z is a
    constant. y[0, 2*row + j] = sum of x[:, pre j, row]; y[1, ...] is its negative.
    """
    body = """
    const float* x = (const float*)((const char*)call->inputs[0] + row * call->input_row_bytes[0]);
    float* y = (float*)call->outputs[0] + row * 4;
    for (int j = 0; j < 2; ++j) {
      y[j] = x[j] + x[2 + j] + x[4 + j];
      y[2 + j] = -y[j];
    }
    """
    return Model(
        body=body,
        inputs=[InputSpec(name="x", dtype="float32", row_shape=(3, 2), batch_axis=1, post=1)],
        outputs=[
            OutputSpec(
                name="y",
                dtype="float32",
                row_shape=(2, 2),
                batch_axis=1,
                post=2,
                source=RowsSource(buffer=0),
            ),
            OutputSpec(
                name="z",
                dtype="float32",
                row_shape=(4,),
                batch_axis=None,
                source=ConstantSource(offset=0),
            ),
        ],
    )


def nested_model() -> Model:
    """forward(pair=(a, [b]), features={"c", "d"}, *, scale=2.0) -> {"sum": a+b+c+d, "same": a,
    "fixed": (2.0,)}.

    `d` is for all rows; the others have shape [B].
    """
    body = """
    float sum = ((const float*)call->inputs[3])[0];
    for (int i = 0; i < 3; ++i) {
      sum += *(const float*)((const char*)call->inputs[i] + row * call->input_row_bytes[i]);
    }
    ((float*)call->outputs[0])[row] = sum;
    """
    rows = [InputSpec(name=name, dtype="float32", row_shape=(1,)) for name in "abc"]
    once = InputSpec(name="d", dtype="float32", row_shape=(1,), batch_axis=None, kind="once")
    pair = TupleNode(items=(Leaf(0), ListNode(items=(Leaf(1),))))
    return Model(
        body=body,
        inputs=[*rows, once],
        outputs=[
            OutputSpec(name="sum", dtype="float32", row_shape=(1,), source=RowsSource(buffer=0)),
            OutputSpec(name="same", dtype="float32", row_shape=(1,), source=InputSource(index=0)),
        ],
        parameters=[
            Parameter(name="pair", structure=pair),
            Parameter(
                name="features", structure=DictNode(keys=("c", "d"), items=(Leaf(2), Leaf(3)))
            ),
            Parameter(
                name="scale", structure=Constant(value=2.0), keyword_only=True, required=False
            ),
        ],
        result=DictNode(
            keys=("sum", "same", "fixed"),
            items=(Leaf(0), Leaf(1), TupleNode(items=(Constant(value=2.0),))),
        ),
    )
