"""swath explain, and swath doctor."""

from __future__ import annotations

import pytest

from commands import Run
from swath.errors import catalogue


def test_one_entry(run: Run) -> None:
    ran = run("explain", "sw113")
    assert ran.code == 0
    assert ran.out.startswith("SW113: an id is outside of its table\n")
    assert "Use instead:" in ran.out


def test_all_entries(run: Run) -> None:
    assert len(run("explain").out.splitlines()) == len(catalogue())
    listed = run("explain", "--json").document["result"]
    assert [entry["id"] for entry in listed] == sorted(catalogue())


def test_no_such_entry(run: Run) -> None:
    ran = run("explain", "SW000", "--json")
    assert ran.code == 2
    assert ran.document["problems"][0]["id"] == "SW408"


def test_doctor_finds_this_machine_healthy(run: Run) -> None:
    ran = run("doctor", "--json")
    assert ran.code == 0, ran.err
    checks = {check["name"]: check for check in ran.document["result"]["checks"]}
    assert {"python", "runtime", "isa", "compiler", "torch", "threads", "memory"} <= set(checks)
    assert all(check["status"] != "problem" for check in checks.values())


def test_doctor_says_how_to_get_a_compiler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:

    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("swath.targets.cpu.build.shutil.which", nothing)
    monkeypatch.setattr("swath.targets.cpu.build.find_spec", nothing)
    ran = run("doctor")
    assert ran.code == 4
    assert "pip install 'swath[cc]'" in ran.out
    assert ran.next.startswith("swath doctor")
