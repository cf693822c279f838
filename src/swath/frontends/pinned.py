"""Finds the lines of a model that tie it to one batch size."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.fx.experimental import symbolic_shapes

from swath.errors import Problem
from swath.frontends.examples import Example
from swath.frontends.exporting import quiet
from swath.frontends.origins import module_names, running_origin
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Origin

# Tracing itself takes it that the batch isn't 0 or 1.
LEAST_TRACED = 2
# A condition must hold for all of these.
_BATCHES = (2, 3, 4, 5, 7, 8, 16, 64, 100, 1000, 1 << 20)


@dataclass(frozen=True, slots=True)
class FreeTrace:
    """A program in which torch may have fixed sizes (None if tracing failed all the same), and a
    problem for each line that only works for some batch sizes."""

    program: ExportedProgram | None
    problems: list[Problem]


def free_trace(
    model: nn.Module, example: Example, dynamic_shapes: Any, mode: AbstractContextManager[Any]
) -> FreeTrace:
    """Trace the model within `mode`, letting torch fix the sizes that the model fixes."""
    program: ExportedProgram | None = None
    with quiet(), _recorded_conditions(module_names(model)) as conditions, torch.no_grad(), mode:
        try:
            program = torch.export.export(
                model,
                example.args,
                example.kwargs,
                dynamic_shapes=automatic(dynamic_shapes),
                strict=False,
            )
        except Exception:  # what was found until then is the answer
            program = None
    return FreeTrace(
        program,
        [pinned(f"tracing needed {text}").at(origin) for text, origin in conditions.values()],
    )


def pinning_lines(model: nn.Module, example: Example, dynamic_shapes: Any) -> list[Problem]:
    """A problem for each line that only works for some batch sizes."""
    return free_trace(model, example, dynamic_shapes, nullcontext()).problems


Conditions = dict[tuple[str, int], tuple[str, Origin]]


@contextmanager
def _recorded_conditions(modules: Mapping[int, str]) -> Generator[Conditions]:
    """Conditions on sizes that tracing takes for granted and that don't always hold, by line."""
    conditions: Conditions = {}
    torch_shapes: Any = symbolic_shapes
    original = torch_shapes.ShapeGuard

    def recorded(*args: Any, **kwargs: Any) -> Any:
        guard = original(*args, **kwargs)
        if not _holds_for_all(guard.expr):
            origin = running_origin(modules)
            conditions.setdefault((origin.file, origin.line), (str(guard.expr), origin))
        return guard

    torch_shapes.ShapeGuard = recorded
    try:
        yield conditions
    finally:
        torch_shapes.ShapeGuard = original


def least_batch(program: ExportedProgram, inputs: Sequence[torch.Tensor]) -> int:
    """The least size of a free axis of the inputs that a program was traced for; tracing itself
    excludes 0 and 1."""
    sizes: list[Any] = [size for tensor in inputs for size in tensor.shape]
    free = {s for size in sizes if not isinstance(size, int) for s in size.node.expr.free_symbols}
    annotated: Any = program  # the type of the constraints is sympy's, which has no annotations
    constraints: Mapping[Any, Any] = annotated.range_constraints
    return max((int(limits.lower) for s, limits in constraints.items() if s in free), default=0)


def _holds_for_all(condition: Any) -> bool:
    symbols = condition.free_symbols
    return all(
        bool(condition.xreplace(dict.fromkeys(symbols, _integer(batch)))) for batch in _BATCHES
    )


def _integer(value: int) -> Any:
    import sympy

    return sympy.Integer(value)


def automatic(shapes: Any) -> Any:
    """Dynamic shapes in which torch may fix what the model fixes."""
    if isinstance(shapes, Mapping):
        items = cast("Mapping[Any, Any]", shapes)
        return {key: automatic(value) for key, value in items.items()}
    if isinstance(shapes, list | tuple):
        values = [automatic(value) for value in cast("tuple[Any, ...]", shapes)]
        return values if isinstance(shapes, list) else tuple(values)
    return shapes if shapes is None or isinstance(shapes, int) else Dim.AUTO


def pinned(condition: str) -> Unsupported:
    """The model only works for some batch sizes."""
    return Unsupported(
        "SW009",
        f"the model ties the batch to certain sizes ({condition})",
        "a compiled program takes any batch; here Python code used the batch size as a number "
        "(a list repeated by it, a loop over rows, len(), NumPy, a comparison, a fixed size)",
        "use torch operations that follow the tensor: x.new_zeros(x.shape[0], n), "
        "torch.arange(n).expand(x.shape[0], -1), reshape(-1, n)",
    )
