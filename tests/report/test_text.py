"""Tables and numbers for people, the container's limits, and the pages of docs/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from swath.cli.flags import option_help
from swath.options import Options
from swath.report.compile_report import function_source
from swath.report.doctor import cpu_quota, memory_limit
from swath.report.profile import with_ticks
from swath.report.reference import pages
from swath.report.table import columns, count_text, seconds_text, shortened, size_text

ROOT = Path(__file__).parents[2]


def test_columns_and_numbers() -> None:
    assert columns([["a", "10"], ["long", "2"]]) == ["a     10", "long   2"]
    assert columns([]) == []
    assert [size_text(size) for size in (0, 1023, 1536, 3 << 30)] == [
        "0 B", "1023 B", "1.5 KB", "3.0 GB"
    ]  # fmt: skip
    assert [count_text(count) for count in (999, 1500, 2e6)] == ["999", "1.5 k", "2.0 M"]
    assert [seconds_text(s) for s in (2e-6, 0.012, 3.0)] == ["2.00 us", "12.00 ms", "3.00 s"]
    assert shortened("model.tower", 7) == "...ower"


def test_limits_of_a_container(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None
    assert memory_limit(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert cpu_quota(tmp_path) == 1.5
    assert memory_limit(tmp_path) == 1 << 20
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert cpu_quota(tmp_path) is None
    assert memory_limit(tmp_path) is None


def test_the_source_of_one_function() -> None:
    source = "\n".join(
        [
            "static const Entry lookup_1_entries[1] = {", "  {0},", "};", "// ids",
            "static void lookup_1(long rows) {", "  for (;;) {", "  }", "}", "",
            "// other", "static void lookup_10(long rows) {", "}",
        ]
    )  # fmt: skip
    assert function_source(source, "lookup_1") == source.partition("\n\n")[0]
    assert function_source(source, "lookup_10") == source.partition("\n\n")[2]
    assert function_source(source, "lookup_2") == ""


def test_a_program_is_taken_apart_only_where_every_kernel_is_found() -> None:
    source = "static void run_rows(\n    long row) {\n  // x\n  a_1(row);\n  b_1(row);\n}\n"
    text = with_ticks(source, 2)
    assert text.count("read_ticks()") == 1 + 1 + 2 * 2
    assert "unsigned long long swath_ticks[2];" in text
    assert text.endswith("\n}\n")
    assert with_ticks(source, 3) == with_ticks(source, 0) == with_ticks("", 0) == ""


def test_every_option_says_what_it_does() -> None:
    assert set(option_help()) == set(Options.__struct_fields__)


@pytest.mark.parametrize("name", ["errors.md", "options.md", "commands.md"])
def test_pages_are_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == pages()[name], (
        "run: python -m swath.report.reference docs"
    )


def test_pages_are_written_by_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "swath.report.reference", str(tmp_path)]
    assert subprocess.run([*command, "--check"], check=False, capture_output=True).returncode == 1
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert subprocess.run([*command, "--check"], check=False, capture_output=True).returncode == 0
