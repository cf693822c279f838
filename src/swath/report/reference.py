"""The pages of docs/ that are made from the code.

python -m swath.report.reference docs          writes errors.md, options.md and commands.md
python -m swath.report.reference docs --check  exits with 1 if one of them is out of date
"""

from __future__ import annotations

import dataclasses
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import msgspec

from swath.cli.flags import option_help
from swath.cli.main import COMMANDS
from swath.cli.main import swath as group
from swath.cli.outcome import Document
from swath.errors import Entry, catalogue
from swath.options import Input, Options

HEADER = "<!-- Made by `python -m swath.report.reference docs`; edit the code instead. -->\n"

GROUPS = {
    "SW0": "The model can't be imported or compiled",
    "SW1": "The inputs of a call don't fit the program",
    "SW2": "An artefact is damaged, foreign or can't be written",
    "SW3": "This machine lacks something",
    "SW4": "A command names something that isn't there",
    "SW9": "A defect of swath",
}
# What each command prints as `result` with --json; a list where it takes or lists several.
RESULTS: dict[str, tuple[str, str, bool]] = {
    "check": ("swath.report.checking", "Checked", False),
    "compile": ("swath.cli.compile", "Compiled", False),
    "compare": ("swath.report.bisect", "Compared", False),
    "bench": ("swath.report.bench_result", "BenchReport", False),
    "inspect": ("swath.report.inspection", "Inspection", False),
    "verify": ("swath.cli.verify", "Verified", True),
    "explain": ("swath.cli.explain", "Explained", True),
    "doctor": ("swath.report.doctor", "Diagnosis", False),
}


def pages() -> dict[str, str]:
    """File name to text."""
    return {
        "errors.md": errors_page(),
        "options.md": options_page(),
        "commands.md": commands_page(),
    }


def errors_page() -> str:
    """Every entry of the catalogue, by group."""
    entries = catalogue()
    parts = [HEADER, "# Errors\n", "`swath explain ID` prints an entry of this page.\n"]
    for prefix, title in GROUPS.items():
        listed = [entries[id] for id in sorted(entries) if id.startswith(prefix)]
        if listed:
            parts.append(f"## {title}\n")
            parts += map(_entry, listed)
    return "\n".join(parts)


def _entry(entry: Entry) -> str:
    explanation = "\n".join(textwrap.wrap(" ".join(entry.explanation.split()), 100))
    return "\n".join(
        [
            f"### {entry.id}: {entry.title}\n",
            f"{explanation}\n",
            "Fails:\n",
            _fenced(entry.failing),
            "Use instead:\n",
            _fenced(entry.repaired),
        ]
    )


def _fenced(text: str) -> str:
    return "```\n" + text.strip("\n") + "\n```\n"


def options_page() -> str:
    """The fields of `swath.Options` and `swath.Input`."""
    help = option_help()
    lines = [HEADER, "# Options\n", _paragraphs(Options.__doc__), ""]
    lines += ["| option | flag | default | |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(Options):
        flag = f"`--{field.name.replace('_', '-')}`"
        cells = [f"`{field.name}`", flag, f"`{field.default!r}`", help.get(field.name, "")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "```python",
        "swath.compile(model, example_inputs, options=swath.Options(threads=1))",
        "```\n",
        "# Inputs\n",
        " ".join((Input.__doc__ or "").split()) + "\n",
        "| field | default | type |",
        "|---|---|---|",
    ]
    for field in msgspec.structs.fields(Input):
        lines.append(
            f"| `{field.name}` | `{field.default!r}` | {type_text(field.type).replace('|', 'or')} |"
        )
    lines += [
        "",
        "```python",
        'swath.compile(model, example_inputs, inputs={"user": swath.Input(ids="modulo")})',
        "```\n",
        "On the command line: `swath compile model.py:make --input user:ids=modulo`.",
        "",
    ]
    return "\n".join(lines)


def _paragraphs(text: str | None) -> str:
    """The head of a docstring, up to the list of fields."""
    head = re.split(r"\n\s*\n", (text or "").strip())[0]
    return " ".join(head.split())


def commands_page() -> str:
    """The help of every command, and the JSON that it prints."""
    parts = [
        HEADER,
        "# Commands\n",
        _help(group, "swath"),
        "## JSON\n",
        "With `--json` every command prints one document on stdout, whatever happens:\n",
        _fenced("\n\n".join(struct_texts(Document))),
        "A number that isn't finite is null. `result` is what the command documents below, or null "
        "where there is none. Bytes are bytes, times are seconds where nothing else is said.\n",
    ]
    context = click.Context(group, info_name="swath")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        module, result, several = RESULTS[name]
        type = getattr(import_module(module), result)
        parts += [
            f"## swath {name}\n",
            _help(command, name, context),
            f"`result` is {'a list of' if several else 'a'} `{result}`:\n",
            _fenced("\n\n".join(struct_texts(type))),
        ]
    return "\n".join(parts)


def _help(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=90,
                            max_content_width=90, help_option_names=["-h", "--help"])  # fmt: skip
    return _fenced(command.get_help(context))


def struct_texts(root: Any) -> Iterator[str]:
    """A struct, and after it every struct that it holds: docstring, fields and their types."""
    waiting, seen = [root], {root}
    while waiting:
        struct = waiting.pop(0)
        hints = typing.get_type_hints(struct)
        names = _field_names(struct)
        doc = textwrap.indent(textwrap.dedent("    " + (struct.__doc__ or "")).strip(), "  ")
        lines = [f"{name}: {type_text(hints[name])}" for name in names]
        yield "\n".join([struct.__name__, doc, "", *(f"    {line}" for line in lines)])
        for name in names:
            for inner in _structs(hints[name]):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)


def _field_names(struct: Any) -> list[str]:
    if dataclasses.is_dataclass(struct):
        return [field.name for field in dataclasses.fields(struct)]
    return list(struct.__struct_fields__)


def _structs(type: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(type) or hasattr(type, "__struct_fields__"):
        yield type
    for argument in typing.get_args(type):
        yield from _structs(argument)


def type_text(type: Any) -> str:
    """A type as one would say it of JSON."""
    origin, arguments = typing.get_origin(type), typing.get_args(type)
    if type is Any:
        return "anything"
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in (tuple, list):
        inner = [type_text(part) for part in arguments if part is not Ellipsis]
        return f"[{', '.join(inner)}{', ...' if origin is list or Ellipsis in arguments else ''}]"
    if origin is dict:
        return f"{{{type_text(arguments[0])}: {type_text(arguments[1])}}}"
    if arguments:
        return " | ".join(type_text(part) for part in arguments)
    return "null" if type is types.NoneType else getattr(type, "__name__", str(type))


def main(arguments: list[str]) -> int:
    """The command line; returns the exit code."""
    folder = Path(arguments[0] if arguments else "docs")
    stale = [
        name
        for name, text in pages().items()
        if not (folder / name).is_file() or (folder / name).read_text() != text
    ]
    if "--check" in arguments:
        print("out of date: " + ", ".join(stale) if stale else "up to date")
        return 1 if stale else 0
    for name in stale:
        (folder / name).write_text(pages()[name])
        print(f"wrote {folder / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
