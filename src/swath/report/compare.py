"""Whether a program computes what its model computes in eager PyTorch, and each row on its own.

    absolute   |ours - eager|, the largest over all elements
    relative   |ours - eager| / |eager|, the largest over elements that are not nearly zero (larger
               than the absolute tolerance)
    ulp        the distance in floating point numbers of the output's type, at the worst element
    error      the largest |ours - eager in float64|; eager_error the same of eager in float32

The worst element is the one whose difference is the largest share of its tolerance. Where both are
NaN or the same infinity there is no difference; where one is, the difference is infinite.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from swath.artifact.manifest import OutputSpec
from swath.errors import Problem, SwathError
from swath.report.arguments import Arguments, CallForm, flat_outputs
from swath.report.models import NamedModel
from swath.report.rows import take_along, take_rows
from swath.runtime import Program, load

Array = NDArray[Any]
Tolerance = tuple[float, float]

# Rows that are scored again alone, and in slices of other lengths at other places.
_SLICES = ((0, 1), (17, 18), (-1, None), (3, 10), (5, 69), (1, None))


class OutputDifference(msgspec.Struct, frozen=True):
    """One output. Numbers that aren't finite are null in JSON.

    row, ours, eager: the worst element; error, eager_error: null where float64 eager can't run.
    """

    output: str
    shape: tuple[int, ...]
    agrees: bool
    absolute: float
    relative: float
    ulp: float
    row: int
    ours: float
    eager: float
    error: float | None = None
    eager_error: float | None = None


class RowCheck(msgspec.Struct, frozen=True):
    """Whether the scores of a row stay the same, bit for bit, when `what` changes."""

    what: str
    identical: bool
    detail: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """What `swath compare` found; `float64` says why eager in float64 is missing."""

    model: str
    rows: int
    tolerance: Tolerance
    agrees: bool
    outputs: tuple[OutputDifference, ...]
    row_checks: tuple[RowCheck, ...]
    float64: str = ""


def eager_call(model: Any) -> Callable[[Arguments], Any]:
    """The model itself, without gradients."""
    import torch
    from torch.export import ExportedProgram

    module: Any = model.module() if isinstance(model, ExportedProgram) else model

    def call(arguments: Arguments) -> Any:
        with torch.no_grad():
            return module(*arguments.positional, **arguments.named)

    return call


def float64_call(model: Any) -> Callable[[Arguments], Any]:
    """The model in float64; its float inputs are widened. May fail when called: a model may
    convert to float32 by itself."""
    import torch
    from torch.export import ExportedProgram
    from torch.utils import _pytree as pytree

    wide: Any = (
        model.module() if isinstance(model, ExportedProgram) else copy.deepcopy(model)
    ).double()

    def widened(leaf: Any) -> Any:
        floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.double() if floating else leaf

    def call(arguments: Arguments) -> Any:
        both: Any = (arguments.positional, arguments.named)
        positional, named = pytree.tree_map(widened, both)
        with torch.no_grad():
            return wide(*positional, **named)

    return call


def difference(
    spec: OutputSpec, ours: Array, eager: Array, tolerance: Tolerance, wide: Array | None = None
) -> OutputDifference:
    """How an output differs; arrays of other shapes or types differ infinitely."""
    if ours.shape != eager.shape or ours.dtype != eager.dtype:
        return OutputDifference(
            spec.name, tuple(ours.shape), False, np.inf, np.inf, np.inf, 0, np.nan, np.nan
        )
    if not ours.size:
        return OutputDifference(
            spec.name,
            tuple(ours.shape),
            True,
            0.0,
            0.0,
            0.0,
            0,
            0.0,
            0.0,
            *((None, None) if wide is None else (0.0, 0.0)),
        )
    gaps = _gaps(ours, eager)
    size = np.nan_to_num(np.abs(eager.astype(np.float64)), nan=0.0, posinf=0.0)
    bound = tolerance[0] + tolerance[1] * size
    # How many times the tolerance each element is off.
    excess = np.divide(gaps, bound, out=np.where(gaps > 0, np.inf, 0.0), where=bound > 0)
    worst = int(np.argmax(excess))
    large = size > tolerance[0]
    relative = float(np.max(gaps[large] / size[large], initial=0.0))
    return OutputDifference(
        spec.name,
        tuple(ours.shape),
        bool(excess.flat[worst] <= 1),
        float(gaps.max()),
        relative,
        _ulp(ours.flat[worst], eager.flat[worst]),
        row_of(spec, ours.shape, worst),
        float(ours.flat[worst]),
        float(eager.flat[worst]),
        None if wide is None else float(_gaps(ours, wide).max()),
        None if wide is None else float(_gaps(eager, wide).max()),
    )


def _gaps(left: Array, right: Array) -> NDArray[np.float64]:
    a, b = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(a - b)
    gaps[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    return np.nan_to_num(gaps, nan=np.inf, posinf=np.inf)


def _ulp(left: Any, right: Any) -> float:
    """Steps between two numbers of one type; integers are one apart."""
    if left == right or (left != left and right != right):
        return 0.0
    if left.dtype.kind != "f":
        return float(abs(int(left) - int(right)))
    if not (np.isfinite(left) and np.isfinite(right)):
        return float("inf")
    whole = {2: np.int16, 4: np.int32, 8: np.int64}[left.dtype.itemsize]
    places = [int(number.view(whole)) for number in (left, right)]
    lowest = int(np.iinfo(whole).min)
    # Negative floats count downwards from the most negative integer.
    ordered = [place if place >= 0 else lowest - place for place in places]
    return float(abs(ordered[0] - ordered[1]))


def row_of(spec: OutputSpec, shape: tuple[int, ...], place: int) -> int:
    """The row that a flat place of an output belongs to; 0 where the output has no rows."""
    if spec.batch_axis is None:
        return 0
    along = int(np.unravel_index(place, shape)[spec.batch_axis])
    count = shape[spec.batch_axis] // spec.row_shape[spec.batch_axis]
    return along // spec.post % max(count, 1)


class Comparer:
    """A model and its program, ready to be fed with rows."""

    def __init__(self, named: NamedModel, program: Program) -> None:
        self.named = named
        self.program = program
        self.manifest = program.manifest
        self.form = CallForm(named.example_inputs, self.manifest.parameters)
        self._eager = eager_call(named.model)

    def ours(self, arrays: Sequence[Array], program: Program | None = None) -> list[Array]:
        """The program's outputs."""
        arguments = self.form.arguments(arrays)
        result = (program or self.program)(*arguments.positional, **arguments.named)
        return flat_outputs(self.manifest.result, result)

    def eager(self, arrays: Sequence[Array]) -> list[Array]:
        """The model's outputs in eager PyTorch. Raises SwathError SW412 where it fails."""
        try:
            result = self._eager(self.form.arguments(arrays))
        except Exception as error:  # whatever the model raises
            raise _eager_failed(self.manifest.name, error) from error
        return flat_outputs(self.manifest.result, result)

    def eager_float64(self, arrays: Sequence[Array]) -> list[Array]:
        """The same with every float in float64."""
        call = float64_call(self.named.model)
        return flat_outputs(self.manifest.result, call(self.form.arguments(arrays)))

    def outputs(
        self, arrays: Sequence[Array], tolerance: Tolerance, float64: bool = True
    ) -> tuple[list[OutputDifference], str]:
        """How each output differs on these rows, and why float64 eager is missing, if it is."""
        ours, eager = self.ours(arrays), self.eager(arrays)
        wide: list[Array] | None = None
        missing = "" if float64 else "not asked for"
        if float64:
            try:
                wide = self.eager_float64(arrays)
            except Exception as error:  # whatever the model raises on float64
                missing = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        specs = self.manifest.outputs
        compared = [
            difference(spec, ours[i], eager[i], tolerance, None if wide is None else wide[i])
            for i, spec in enumerate(specs)
        ]
        return compared, missing

    def row_checks(self, arrays: Sequence[Array], rows: int, threads: int) -> list[RowCheck]:
        """Whether a row scores the same in any batch, at any position, on any thread."""
        with _loaded(self.program, 1) as alone:
            scores = self.ours(arrays, alone)
            slices = [_bounds(rows, first, last) for first, last in _SLICES]
            slices = [(first, last) for first, last in slices if 0 <= first < last <= rows]
            batches = [self._slice(alone, arrays, scores, *part) for part in slices]
            turned = self._moved(alone, arrays, scores, rows)
        split = self._threads(arrays, rows, threads)
        return [
            _check("batch", batches),
            _check("position", [turned]),
            _check("threads", [split]),
        ]

    def _slice(
        self, program: Program, arrays: Sequence[Array], scores: list[Array], first: int, last: int
    ) -> str:
        picked = np.arange(first, last)
        found = self.ours(take_rows(self.manifest.inputs, arrays, picked), program)
        expected = self._rows_of(scores, picked)
        return "" if _same_bits(found, expected) else f"rows {first} to {last - 1} on their own"

    def _moved(
        self, program: Program, arrays: Sequence[Array], scores: list[Array], rows: int
    ) -> str:
        picked = np.arange(rows)[::-1].copy()
        found = self.ours(take_rows(self.manifest.inputs, arrays, picked), program)
        return "" if _same_bits(found, self._rows_of(scores, picked)) else "rows in reverse order"

    def _threads(self, arrays: Sequence[Array], rows: int, threads: int) -> str:
        """Enough rows that helper threads get some, on one thread and on several."""
        if not rows:
            return ""
        wanted = max(rows, 4 * self.manifest.thread_min_rows)
        many = take_rows(self.manifest.inputs, arrays, np.arange(wanted) % rows)
        with _loaded(self.program, 1) as one, _loaded(self.program, threads) as several:
            same = _same_bits(self.ours(many, one), self.ours(many, several))
        return "" if same else f"{wanted} rows on {threads} threads"

    def _rows_of(self, outputs: Sequence[Array], rows: NDArray[np.int64]) -> list[Array]:
        return [
            take_along(array, spec, rows)
            for array, spec in zip(outputs, self.manifest.outputs, strict=True)
        ]


def _eager_failed(name: str, error: Exception) -> SwathError:
    said = " ".join(f"{type(error).__name__}: {error}".split())[:400]
    return SwathError(
        Problem(
            "SW412",
            f"{name} fails in eager PyTorch on the rows to compare",
            said,
            "give rows that the model takes: --inputs rows.npz, or a make_inputs of the factory",
        )
    )


@contextmanager
def _loaded(program: Program, threads: int) -> Generator[Program]:
    loaded = load(program.path, threads=threads)
    try:
        yield loaded
    finally:
        loaded.close()


def _bounds(rows: int, first: int, last: int | None) -> tuple[int, int]:
    return (rows + first if first < 0 else first, rows if last is None else last)


def _check(what: str, findings: Sequence[str]) -> RowCheck:
    bad = [finding for finding in findings if finding]
    return RowCheck(what, not bad, f"differs: {'; '.join(bad)}" if bad else "")


def _same_bits(left: Sequence[Array], right: Sequence[Array]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


def compare(
    comparer: Comparer,
    arrays: Sequence[Array],
    rows: int,
    tolerance: Tolerance,
    *,
    float64: bool = True,
    threads: int = 2,
) -> Comparison:
    """Everything that `swath compare` says about these rows."""
    outputs, missing = comparer.outputs(arrays, tolerance, float64)
    checks = comparer.row_checks(arrays, rows, threads)
    agrees = all(o.agrees for o in outputs) and all(check.identical for check in checks)
    return Comparison(
        comparer.manifest.name, rows, tolerance, agrees, tuple(outputs), tuple(checks), missing
    )
