"""Finds the lines of a model that tie it to one batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def pinning_lines(model: nn.Module, example: Example, dynamic_shapes: Any) -> list[Problem]:
    """A problem for each line that only works for some batch sizes (none if tracing fails)."""
    conditions: dict[tuple[str, int], tuple[str, Origin]] = {}
    modules = module_names(model)
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
        with quiet(), torch.no_grad():
            torch.export.export(
                model,
                example.args,
                example.kwargs,
                dynamic_shapes=automatic(dynamic_shapes),
                strict=False,
            )
    except Exception:
        pass
    finally:
        torch_shapes.ShapeGuard = original
    return [pinned(text).at(origin) for text, origin in conditions.values()]


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
        f"the model ties the batch to certain sizes (tracing needed {condition})",
        "a compiled program takes any batch; here Python code used the batch size as a number "
        "(a list repeated by it, a loop over rows, len(), NumPy, a comparison, a fixed size)",
        "use torch operations that follow the tensor: x.new_zeros(x.shape[0], n), "
        "torch.arange(n).expand(x.shape[0], -1), reshape(-1, n)",
    )
