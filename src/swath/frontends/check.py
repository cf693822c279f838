"""What would compile: every problem of a model at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swath.errors import Problem, UnsupportedModel
from swath.frontends.diagnose import row_problems
from swath.frontends.torch_export import Model, import_program
from swath.options import Input


def check(
    model: Model,
    example_inputs: Any = None,
    *,
    dynamic_shapes: Any = None,
    inputs: Mapping[str, Input] | None = None,
) -> list[Problem]:
    """Everything that keeps a model from being compiled; empty if nothing does.

    The arguments are those of `import_program`.
    """
    try:
        imported = import_program(
            model, example_inputs, dynamic_shapes=dynamic_shapes, inputs=inputs
        )
    except UnsupportedModel as unsupported:
        return list(unsupported.problems)
    return row_problems(imported.graph)
