"""The group of commands. Each lives in a module of its own, imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from swath.version import VERSION

# In the order of a user's way: name -> what it does.
COMMANDS: dict[str, str] = {
    "check": "Say whether a model would compile; list every problem at once.",
    "compile": "Compile a model into an artefact.",
    "compare": "Compare a program with its model in eager PyTorch.",
    "bench": "Time a model against its peers, or an artefact alone.",
    "inspect": "Show graph, kernels, memory and limits of a program.",
    "verify": "Check every byte of an artefact.",
    "explain": "Explain an error.",
    "doctor": "Check this machine and environment.",
}

EPILOG = """\
\b
MODEL is package.module:factory, file.py:factory or a .pt2 file; the factory
returns (model, example_inputs).

\b
Exit codes: 0 ok, 1 negative result (differs, damaged), 2 usage, 3 unsupported
model, 4 environment. Results go to stdout, progress to stderr; --json gives
one JSON document (docs/commands.md).

\b
Example:
  swath check model.py:make
  swath compile model.py:make -o model.swath
  swath compare model.py:make --program model.swath
"""


class LazyGroup(click.Group):
    """Knows the names of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of a user's way."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"swath.cli.{cmd_name}")
        return getattr(module, f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """As click's, but a wrong use ends with a `next:` line too."""
        try:
            given = list(sys.argv[1:] if args is None else args)
            code: object = super().main(
                args=given,
                obj=given,
                prog_name=prog_name,
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
        except click.ClickException as error:
            error.show()
            context = error.ctx if isinstance(error, click.UsageError) else None
            path = context.command_path if context is not None else "swath"
            click.echo(f"next: {path} --help", err=True)
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            sys.exit(130)
        except BrokenPipeError:
            # Whoever reads has seen enough; Python would complain when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(0)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="swath", message="%(prog)s %(version)s")
def swath() -> None:
    """Compile PyTorch ranking models into artefacts that run fast without PyTorch."""
