"""Which step of the compiler breaks a model: the graph behind each is interpreted on a few rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from swath.graph.interpreter import interpret, interpret_rows
from swath.graph.ir import Graph
from swath.options import Input, Options
from swath.passes.pipeline import run
from swath.report.compare import (
    Comparer,
    Comparison,
    OutputDifference,
    Tolerance,
    difference,
    row_of,
)
from swath.report.models import NamedModel
from swath.report.rows import take_rows
from swath.rows.debatch import Debatched, debatch

if TYPE_CHECKING:
    from swath.frontends.torch_export import Imported

Array = NDArray[Any]
MOST_ROWS = 8


class StepDifference(msgspec.Struct, frozen=True):
    """One step: `import`, `debatch`, the name of a pass, or `kernels`; its worst output, as in
    `OutputDifference`; why it couldn't run, if so."""

    step: str
    agrees: bool
    output: str
    absolute: float
    relative: float
    row: int
    failed: str = ""


class Bisection(msgspec.Struct, frozen=True):
    """All steps in order, on `rows` of the compared rows; `first_bad` is null where all agree.

    kernels_from_graph: the largest difference of the compiled program from the interpreter of the
    last graph, on these rows.
    """

    first_bad: str | None
    rows: tuple[int, ...]
    steps: tuple[StepDifference, ...]
    kernels_from_graph: float


class Compared(msgspec.Struct, frozen=True):
    """The result of `swath compare`; `bisection` is null unless it was asked for."""

    comparison: Comparison
    bisection: Bisection | None = None


def worst_rows(comparer: Comparer, arrays: Sequence[Array], rows: int) -> NDArray[np.int64]:
    """The rows whose outputs differ most from eager, at most MOST_ROWS, in ascending order."""
    gaps = np.zeros(rows)
    pairs = zip(
        comparer.ours(arrays), comparer.eager(arrays), comparer.manifest.outputs, strict=True
    )
    for ours, eager, spec in pairs:
        if ours.shape != eager.shape:
            continue
        flat = np.abs(ours.astype(np.float64) - eager.astype(np.float64)).reshape(-1)
        flat = np.nan_to_num(flat, nan=np.inf)
        for place in np.argsort(-flat)[: 4 * MOST_ROWS]:
            row = row_of(spec, ours.shape, int(place))
            gaps[row] = max(gaps[row], flat[place])
    return np.sort(np.argsort(-gaps, kind="stable")[:MOST_ROWS])


def import_named(named: NamedModel, declared: Mapping[str, Input]) -> Imported:
    """The model as a batched graph and signature. Raises UnsupportedModel."""
    from swath.frontends.torch_export import import_program

    return import_program(
        named.model, named.example_inputs, dynamic_shapes=named.dynamic_shapes, inputs=declared
    )


def graphs_of(
    named: NamedModel, declared: Mapping[str, Input], options: Options
) -> tuple[Graph, Debatched, list[tuple[str, Graph]]]:
    """The graph as imported, in row form, and behind every pass (one that runs again is called
    `name#2`). Raises UnsupportedModel."""
    imported = import_named(named, declared)
    debatched = debatch(imported.graph)
    kept: list[tuple[str, Graph]] = []
    counts: dict[str, int] = {}

    def keep(name: str, graph: Graph) -> None:
        counts[name] = counts.get(name, 0) + 1
        kept.append((name if counts[name] == 1 else f"{name}#{counts[name]}", graph))

    run(debatched.graph, options, keep=keep)
    return imported.graph, debatched, kept


def bisect(
    comparer: Comparer,
    arrays: Sequence[Array],
    rows: int,
    declared: Mapping[str, Input],
    options: Options,
    tolerance: Tolerance,
    say: Callable[[str], None] = lambda _: None,
) -> Bisection:
    """Interprets the graph behind every step and finds the first one that leaves the tolerance."""
    picked = worst_rows(comparer, arrays, rows)
    some = take_rows(comparer.manifest.inputs, arrays, picked)
    count = len(picked)
    eager = comparer.eager(some)
    imported, debatched, kept = graphs_of(comparer.named, declared, options)

    def in_rows(graph: Graph) -> list[Array]:
        return interpret_rows(graph, some, count, debatched.input_rows, debatched.output_rows)

    calls: list[tuple[str, Callable[[], list[Array]]]] = [
        ("import", lambda: interpret(imported, some, count)),
        ("debatch", lambda: in_rows(debatched.graph)),
    ]
    calls += [(name, lambda graph=graph: in_rows(graph)) for name, graph in kept]
    calls += [("kernels", lambda: comparer.ours(some))]
    steps: list[StepDifference] = []
    results: dict[str, list[Array]] = {}
    for name, call in calls:
        say(f"interpreting the graph behind {name}" if name != "kernels" else "running kernels")
        step, found = _step(name, call, eager, comparer, tolerance, picked)
        steps.append(step)
        results["kernels" if name == "kernels" else "graph"] = found
    first = next((step.step for step in steps if not step.agrees), None)
    return Bisection(
        first, tuple(map(int, picked)), tuple(steps), _largest(results["kernels"], results["graph"])
    )


def _step(
    name: str,
    call: Callable[[], list[Array]],
    eager: Sequence[Array],
    comparer: Comparer,
    tolerance: Tolerance,
    picked: NDArray[np.int64],
) -> tuple[StepDifference, list[Array]]:
    try:
        found = call()
    except Exception as error:  # a broken graph may break the interpreter in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return StepDifference(name, False, "", np.inf, np.inf, int(picked[0]), reason), []
    compared = [
        difference(spec, _typed(array, expected), expected, tolerance)
        for spec, array, expected in zip(comparer.manifest.outputs, found, eager, strict=True)
    ]
    worst = min(compared, key=lambda one: (one.agrees, -one.absolute))
    return _named(name, worst, picked), found


def _named(name: str, worst: OutputDifference, picked: NDArray[np.int64]) -> StepDifference:
    return StepDifference(
        name, worst.agrees, worst.output, worst.absolute, worst.relative, int(picked[worst.row])
    )


def _typed(array: Array, like: Array) -> Array:
    """A passed-through input may be narrower in the model than in the graph."""
    return array.astype(like.dtype) if array.dtype.kind == like.dtype.kind else array


def _largest(left: Sequence[Array], right: Sequence[Array]) -> float:
    if len(left) != len(right):
        return float("inf")
    worst = 0.0
    for a, b in zip(left, right, strict=True):
        if a.shape != b.shape:
            return float("inf")
        gaps = np.abs(a.astype(np.float64) - b.astype(np.float64))
        gaps[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
        worst = max(worst, float(np.nan_to_num(gaps, nan=np.inf).max(initial=0.0)))
    return worst
