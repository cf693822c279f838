"""Flags that several commands share. Those of the compiler are made from `swath.Options`."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args, get_origin

import click
import msgspec

from swath.cli.outcome import Output
from swath.options import Input, Options

Function = Callable[..., Any]


def output_flags(function: Function) -> Function:
    """--json and --quiet, given to the function as `output`."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
    @click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
    @functools.wraps(function)
    def wrapped(*args: Any, as_json: bool, quiet: bool, **kwargs: Any) -> Any:
        return function(*args, output=Output(as_json, quiet), **kwargs)

    return wrapped


def model_argument(function: Function) -> Function:
    """MODEL."""
    return click.argument("model", metavar="MODEL")(function)


def examples(*lines: str) -> str:
    """The end of a help text."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def number_list(least: int) -> Callable[[click.Context, click.Parameter, str], tuple[int, ...]]:
    """A callback that reads `1,16,128`; numbers below `least` are a usage error."""

    def read(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
        try:
            numbers = tuple(int(part) for part in value.split(","))
        except ValueError:
            message = f"{value!r} is not a list of numbers like 1,16,128"
            raise click.BadParameter(message, ctx, param) from None
        if min(numbers) < least:
            raise click.BadParameter(f"{min(numbers)} is below {least}", ctx, param)
        return numbers

    return read


def word_list(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """A callback that reads `a,b`; None where the flag isn't given."""
    del ctx, param
    if value is None:
        return None
    return tuple(part.strip() for part in value.split(",") if part.strip())


def compiler_flags(function: Function) -> Function:
    """--input and a flag for each field of `swath.Options`, given to the function as `declared`
    and `options`."""
    fields = msgspec.structs.fields(Options)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = {field.name: kwargs.pop(f"option_{field.name}") for field in fields}
        options = Options(**{name: value for name, value in given.items() if value is not None})
        return function(*args, options=options, **kwargs)

    help = option_help()
    flagged: Function = wrapped
    for field in reversed(fields):
        flagged = _flag(field.name, field.type, help.get(field.name, ""))(flagged)
    return click.option(
        "--input",
        "declared",
        multiple=True,
        callback=read_inputs,
        metavar="NAME:KEY=VALUE,...",
        help="Declare an input, as swath.Input does: user:ids=modulo or values:ragged=offsets.",
    )(flagged)


def _flag(name: str, type: Any, help: str) -> Callable[[Function], Function]:
    """The flag of one option."""
    flag = f"--{name.replace('_', '-')}"
    variable = f"option_{name}"
    origin, arguments = get_origin(type), get_args(type)
    if type is bool:
        return click.option(f"{flag}/--no{flag[1:]}", variable, default=None, help=help)
    if origin is Literal:
        return click.option(flag, variable, type=click.Choice(arguments), help=help)
    if origin is tuple and Ellipsis in arguments:
        return click.option(flag, variable, callback=word_list, metavar="NAME,...", help=help)
    if origin is tuple:
        return click.option(flag, variable, type=arguments, help=help)
    if origin in (types.UnionType,):
        type = next(part for part in arguments if part is not types.NoneType)
    return click.option(flag, variable, type=type, help=help)


def option_help() -> dict[str, str]:
    """What the docstring of `Options` says of each field."""
    found: dict[str, str] = {}
    name = ""
    for line in (Options.__doc__ or "").splitlines():
        stated = re.match(r"^ {4}(\w+): +(.*)$", line)
        if stated and stated[1] in Options.__struct_fields__:
            name = stated[1]
            found[name] = stated[2]
        elif name and line.strip():
            found[name] += " " + line.strip()
        else:
            name = ""
    return found


def read_inputs(
    ctx: click.Context, param: click.Parameter, value: Sequence[str]
) -> dict[str, Input]:
    """A callback that reads `user:ids=modulo,default_row=3`; the declarations by input name."""

    def refuse(text: str, why: str) -> click.BadParameter:
        return click.BadParameter(f"{text!r}: {why}", ctx, param)

    found: dict[str, Input] = {}
    for text in value:
        name, colon, rest = text.rpartition(":")
        pairs = [part.partition("=") for part in rest.split(",")]
        if not colon or not name or not all(key and sign for key, sign, _ in pairs):
            raise refuse(text, "write NAME:KEY=VALUE,... such as user:ids=modulo")
        values = {key.strip(): entry.strip() for key, _, entry in pairs}
        unknown = [key for key in values if key not in Input.__struct_fields__]
        if unknown:
            known = ", ".join(Input.__struct_fields__)
            raise refuse(text, f"there is no key {unknown[0]!r}; there are {known}")
        try:
            found[name] = msgspec.convert(values, Input, strict=False)
        except msgspec.ValidationError as error:
            raise refuse(text, str(error)) from error
    return found
