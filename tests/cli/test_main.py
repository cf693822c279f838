"""The group itself, as real processes."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Run
from swath.cli.main import COMMANDS

HELP_SECONDS = 0.2


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['swath', '--help']\n"
        "from swath.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'numpy', 'msgspec', 'rich'} & set(sys.modules)))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = python("-c", program)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "[]"
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert used < HELP_SECONDS


def test_module_runs_as_the_command() -> None:
    done = python("-m", "swath", "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("swath ")


def test_unknown_command_is_a_usage_error(run: Run) -> None:
    ran = run("complie")
    assert ran.code == 2
    assert ran.next == "swath --help"


def test_missing_argument_names_the_help_of_the_command(run: Run) -> None:
    ran = run("check")
    assert ran.code == 2
    assert ran.next == "swath check --help"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_text_has_an_example(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"Example:\n    swath {command}" in ran.out
    assert "--json" in ran.out


def test_reader_that_stops_early_sees_no_traceback() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m swath explain | head -1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_artefacts_are_served_without_torch(artefact: Path) -> None:
    program = (
        "import sys\n"
        "from swath.cli.main import swath\n"
        "for words in (['inspect', path], ['verify', path],\n"
        "              ['bench', path, '--batches', '2', '--rounds', '1', '--turn', '0.01']):\n"
        "    try: swath.main(words)\n"
        "    except SystemExit as end: assert end.code == 0, words\n"
        "print('torch' in sys.modules)"
    )
    done = python("-c", f"path = {str(artefact)!r}\n{program}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
