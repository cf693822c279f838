"""What torch.export couldn't trace, told as problems of the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import nn
from torch.export import ExportedProgram

from swath.errors import Problem, UnsupportedModel
from swath.frontends.examples import Example, with_traced_batch
from swath.frontends.exporting import ExportFailure
from swath.frontends.origins import deepest_model_frame, failure_origin, module_names
from swath.frontends.pinned import free_trace, pinned
from swath.frontends.refusals import (
    branch_on_data,
    export_fails,
    first_line,
    host_number,
    misfit_shapes,
    numpy_in_forward,
)
from swath.frontends.scan import Replay, Scan, scan
from swath.frontends.sizes import data_dependent_size
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Graph, Origin
from swath.rows.debatch import debatch
from swath.rows.layout import find_rows

# A symbolic size in the text of an error: sizes that follow from the batch don't fit together.
_SIZE_SYMBOL = re.compile(r"\bs\d+\b")
# How Python asks for a size.
_SIZE_READ = re.compile(r"\.shape\b|\.size\(|\blen\(")
# Ids that say the same of a line: the model mixes rows.
_KINDS = {"SW023": "SW030"}
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

    1  an eager run finds what Python reads of tensors, operations without a rule, and operations
       along the batch axis
    2  tracing is tried again with the values that were read, leaving torch free to fix sizes; the
       problems of that program are added, and the lines that tie the batch to a size
    3  a failure that neither explains is told as it is
    """
    watched = with_traced_batch(given, model.forward, dynamic_shapes) or example
    found = scan(model, watched)
    if found.fails:
        found = scan(model, given)
    traced = free_trace(model, example, dynamic_shapes, Replay(found.reads))
    problems = found.without_echoes(traced.program is not None)
    if traced.program is not None:
        problems += inspect(traced.program)
    if found.reads or _is_pinned(failure.non_strict) or _is_pinned(failure.strict):
        problems += _causes(traced.problems, found)
    if not problems and _is_pinned(failure.strict):
        problems.append(_pinned_line(failure))
    translated = _translated(failure.non_strict, model)
    lines = {(problem.where.file, problem.where.line) for problem in problems}
    place = (translated.where.file, translated.where.line)
    told = place in lines or translated.where.file is None
    if not problems or (translated.id in ("SW005", "SW010") and not told):
        problems.append(translated)
    return without_repeats(problems)


def row_problems(graph: Graph) -> list[Problem]:
    """The places at which a graph mixes rows."""
    try:
        debatch(graph)
    except UnsupportedModel as unsupported:
        return list(unsupported.problems)
    return []


def rest_problems(graph: Graph) -> list[Problem]:
    """The places at which a graph mixes rows that could be imported only in part.

    Nodes count whether an output needs them or not: what needed them may be missing.
    """
    layout = find_rows(replace(graph, outputs=()), graph.nodes)
    # A stand-in for what can't be imported may have two batch axes; inputs are checked before.
    return [problem for problem in layout.problems if problem.id != "SW033"]


def without_repeats(problems: list[Problem]) -> list[Problem]:
    """The problems in the order of the lines, each kind once a line."""
    seen: dict[Any, Problem] = {}
    for problem in problems:
        place = (_KINDS.get(problem.id, problem.id), problem.where.file, problem.where.line)
        seen.setdefault(place if problem.where.file else problem, problem)
    files = [problem.where.file for problem in seen.values()]
    return sorted(
        seen.values(),
        key=lambda problem: (files.index(problem.where.file), problem.where.line or 0),
    )


def _causes(lines: list[Problem], found: Scan) -> list[Problem]:
    """The lines that tie the batch to a size by themselves. Values that NumPy has computed from
    the example have its size: the lines that use them say nothing new."""
    if all(problem.id != "SW007" for problem in found.problems):
        return lines
    return [line for line in lines if _SIZE_READ.search(line.where.source or "")]


def _is_pinned(error: Exception) -> bool:
    return "Constraints violated" in str(error)


def _pinned_line(failure: ExportFailure) -> Problem:
    """The line that strict tracing names."""
    file, line, source = deepest_model_frame(str(failure.strict))
    refusal = pinned("one size")
    return refusal.at(Origin("", file, line, source)) if file else refusal.at_model()


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
    if kind == "UserError" and "`dynamic_shapes`" in text:
        return misfit_shapes(error)
    if _SIZE_SYMBOL.search(text):
        return pinned(f"sizes that don't fit: {first_line(error)}")
    return export_fails(error)
