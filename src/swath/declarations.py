"""Whether what the user declares of inputs fits the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swath.errors import InvalidInput, Problem
from swath.options import Input, Options, unfit_options


def check_kinds(declared: Mapping[str, Any]) -> None:
    """Raises InvalidInput for a declaration that isn't a swath.Input."""
    for name, declaration in declared.items():
        if not isinstance(declaration, Input):
            raise _unfit(
                f"the declaration of {name!r} is a {type(declaration).__name__}",
                "inputs are declared by swath.Input",
                f"use inputs={{{name!r}: swath.Input(...)}}",
            )


def check_options(options: Any) -> None:
    """Raises InvalidInput for options that aren't a swath.Options."""
    if not isinstance(options, Options):
        raise unfit_options(f"a {type(options).__name__}", "use options=swath.Options(...)")


def check_names(declared: Mapping[str, Input], inputs: Sequence[str]) -> None:
    """Raises InvalidInput for a declaration of an input that the model hasn't."""
    for name in declared:
        if name not in inputs:
            raise _unfit(
                f"the model has no input {name!r}",
                f"its inputs are {', '.join(inputs)}",
                "declare an input under one of these names",
            )


def check_ids(declared: Mapping[str, Input], lookups: Sequence[tuple[str, str, int]]) -> None:
    """Raises InvalidInput for a policy of ids that nothing follows, or whose default row lies
    outside of a table: code that looks ids up takes the default row as it is.

    lookups   the input that the ids come from, the table and its number of rows
    """
    for name, declaration in declared.items():
        if declaration.ids == "error":
            continue
        followed = [(table, rows) for source, table, rows in lookups if source == name]
        if not followed:
            raise _unfit(
                f"no lookup takes its ids from the input {name!r}",
                f"ids={declaration.ids!r} is for ids that are given, not for ones that the model"
                " computes",
                "declare the inputs that hold ids",
            )
        if declaration.ids == "modulo":
            continue
        for table, rows in followed:
            if declaration.default_row >= rows:
                raise _unfit(
                    f"the default row {declaration.default_row} of {name!r} isn't in the table"
                    f" `{table}`",
                    f"the table has {rows} rows",
                    f"choose a row below {rows}",
                )


def _unfit(what: str, why: str, fix: str) -> InvalidInput:
    return InvalidInput(Problem("SW119", what, why, fix))
