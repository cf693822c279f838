"""What the compiler hands over to be written as an artefact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swath.artifact.manifest import DType, InputSpec, LookupSpec, OutputSpec, Parameter, Tree
from swath.artifact.weights import WeightsBuilder


@dataclass(frozen=True, slots=True)
class Library:
    """A compiled library for one ISA (a key of `manifest.ISA_REQUIREMENTS`); `content` is the
    shared object.
    """

    isa: str
    content: bytes
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Table:
    """An embedding table; `data` is [rows, width]. Bfloat16 data comes as uint16 with dtype
    "bfloat16".
    """

    name: str
    data: NDArray[np.generic]
    dtype: DType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All of an artefact. Libraries are in rising order of preference; sources are name -> text.

    `report` is the JSON of what the compiler did, for people; without one no file is written.
    """

    name: str
    model: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: Sequence[InputSpec]
    outputs: Sequence[OutputSpec]
    parameters: Sequence[Parameter]
    result: Tree
    lookups: Sequence[LookupSpec]
    libraries: Sequence[Library]
    tables: Sequence[Table]
    weights: WeightsBuilder
    graph: str
    sources: Mapping[str, str]
    thread_min_rows: int
    rows_per_swath: int
    tolerance: Mapping[str, float]
    report: str = ""
