"""What torch.export couldn't trace, told as problems of the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from swath.errors import Problem, UnsupportedModel
from swath.frontends.examples import Example
from swath.frontends.exporting import ExportFailure, quiet
from swath.frontends.origins import deepest_model_frame, failure_origin, module_names
from swath.frontends.pinned import automatic, pinned, pinning_lines
from swath.frontends.refusals import (
    branch_on_data,
    export_fails,
    first_line,
    host_number,
    numpy_in_forward,
)
from swath.frontends.scan import Replay, Scan, scan
from swath.frontends.sizes import data_dependent_size
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Graph, Origin
from swath.rows.debatch import debatch

# A symbolic size in the text of an error: sizes that follow from the batch don't fit together.
_SIZE_SYMBOL = re.compile(r"\bs\d+\b")
# Lists the problems of a program that was traced with recorded values.
Inspect = Callable[[ExportedProgram], list[Problem]]


def explain_failure(
    model: nn.Module,
    example: Example,
    given: Example,
    dynamic_shapes: Any,
    failure: ExportFailure,
    inspect: Inspect,
) -> list[Problem]:
    """All problems that can be found in a model whose export failed; at least one.

    1  an eager run finds what Python reads of tensors, and operations without a rule
    2  if there are such reads, tracing is tried again with the values that were read, and the
       problems of that program are added
    3  if the failure is that the batch is tied to a size, the lines that do it are looked for
    4  a failure that none of these explains is told as it is
    """
    found = scan(model, example)
    if found.problems and found.problems[0].id == "SW018":
        found = scan(model, given)
    problems = found.without_echoes()
    if found.reads:
        problems += _traced_with_reads(model, example, dynamic_shapes, found, inspect)
    if _is_pinned(failure.non_strict) or (not problems and _is_pinned(failure.strict)):
        problems += _pinned_lines(model, example, dynamic_shapes, failure)
    translated = _translated(failure.non_strict, model)
    lines = {(problem.where.file, problem.where.line) for problem in problems}
    place = (translated.where.file, translated.where.line)
    if not problems or (translated.id in ("SW005", "SW010") and place not in lines):
        problems.append(translated)
    return without_repeats(problems)


def row_problems(graph: Graph) -> list[Problem]:
    """The places at which a graph mixes rows."""
    try:
        debatch(graph)
    except UnsupportedModel as unsupported:
        return list(unsupported.problems)
    return []


def without_repeats(problems: list[Problem]) -> list[Problem]:
    """The problems in order of their places as found, each kind once a line."""
    seen: dict[Any, Problem] = {}
    for problem in problems:
        place = (problem.id, problem.where.file, problem.where.line)
        seen.setdefault(place if problem.where.file else problem, problem)
    return list(seen.values())


def _traced_with_reads(
    model: nn.Module, example: Example, dynamic_shapes: Any, found: Scan, inspect: Inspect
) -> list[Problem]:
    try:
        with quiet(), torch.no_grad(), Replay(found.reads):
            program = torch.export.export(
                model,
                example.args,
                example.kwargs,
                dynamic_shapes=automatic(dynamic_shapes),
                strict=False,
            )
    except Exception:  # the eager run's findings stand alone then
        return []
    return inspect(program)


def _is_pinned(error: Exception) -> bool:
    return "Constraints violated" in str(error)


def _pinned_lines(
    model: nn.Module, example: Example, dynamic_shapes: Any, failure: ExportFailure
) -> list[Problem]:
    lines = pinning_lines(model, example, dynamic_shapes)
    if lines:
        return lines
    for error in (failure.strict, failure.non_strict):
        file, line, source = deepest_model_frame(str(error))
        if file:
            return [pinned("one size").at(Origin("", file, line, source))]
    return [pinned("one size").at_model()]


def _translated(error: Exception, model: nn.Module) -> Problem:
    """A failure of tracing by its kind, at the deepest line of the model in its traceback."""
    origin = failure_origin(error, module_names(model))
    return _refusal(error).at(origin)


def _refusal(error: Exception) -> Unsupported:
    kind, text = type(error).__name__, str(error)
    if "numpy" in type(error).__module__ or "ufunc" in text or "numpy" in text[:200]:
        return numpy_in_forward()
    if kind == "GuardOnDataDependentSymNode" and "(Size-like symbols: none)" not in text:
        return data_dependent_size()
    if kind in ("GuardOnDataDependentSymNode", "PendingUnbackedSymbolNotFound"):
        return branch_on_data()
    if kind == "DataDependentOutputException":
        return host_number("item")
    if _SIZE_SYMBOL.search(text):
        return pinned(f"sizes that don't fit: {first_line(error)}")
    return export_fails(error)
