"""What torch.export couldn't trace, told as problems of the model."""

from __future__ import annotations

from typing import Any

from torch import nn

from swath.errors import Problem
from swath.frontends.examples import Example
from swath.frontends.exporting import ExportFailure
from swath.frontends.unsupported import Unsupported


def explain_failure(model: nn.Module, example: Example, given: Example, dynamic_shapes: Any,
                    failure: ExportFailure) -> list[Problem]:
    """At least one problem for a failed export."""
    del model, example, given, dynamic_shapes
    return [Unsupported("SW003", "torch.export failed", str(failure), "").at_model()]
