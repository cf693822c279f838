"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """The `swath` command."""
    from swath.cli.main import swath

    swath.main(prog_name="swath")
