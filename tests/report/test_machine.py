"""The probe of the machine's limits."""

from __future__ import annotations

import pytest

from swath.report.machine import ProbeError, measure_machine


def test_the_limits_are_plausible_and_in_order() -> None:
    machine = measure_machine(rounds=1)
    assert 2 < machine.float32_gflops < 1000
    # Whatever else runs here, registers and caches stay ahead of memory.
    assert machine.l1_gbytes > machine.memory_gbytes
    assert 0 < machine.cached_row_nanoseconds < 200
    assert 0 < machine.row_nanoseconds < 500
    assert machine.arithmetic_seconds(machine.float32_gflops * 1e9) == pytest.approx(1.0)
    assert machine.weight_seconds(100e9) > machine.weight_seconds(1e3)


def test_a_machine_without_a_compiler_is_told() -> None:
    with pytest.raises(ProbeError, match="no-such-compiler"):
        measure_machine(compiler="no-such-compiler")
