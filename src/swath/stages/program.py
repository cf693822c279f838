"""A lowered graph as a program: rows per swath, scratch plan."""

from __future__ import annotations

from collections.abc import Mapping

from swath.options import Options
from swath.stages.ahead import ahead_bytes
from swath.stages.schedule import choose_rows
from swath.stages.scratch import plan_scratch
from swath.stages.state import State
from swath.tile.kernels import Program
from swath.tile.views import Buffer


def make_program(state: State, weight_offsets: Mapping[Buffer, int], options: Options) -> Program:
    """The kernels with their schedule; `weight_offsets` are byte offsets into the weights."""
    rows = choose_rows(state.kernels, options.rows_per_swath)
    offsets, size = plan_scratch(state.kernels, rows)
    total = size + ahead_bytes(state.kernels, rows)
    return Program(state.kernels, rows, offsets, total, dict(weight_offsets), addresses=size)
