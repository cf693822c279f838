"""The passes in their order. Nothing else lists them.

A pass is a function Graph -> Graph in a file of its name. It works on row form, keeps the meaning
of the graph, and holds a before and after in its docstring that runs as a test.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from swath.errors import Problem, SwathError, Where
from swath.graph.ir import Graph
from swath.options import Options
from swath.passes.common_subexpressions import common_subexpressions
from swath.passes.contract_products import contract_products
from swath.passes.convolution_to_linear import convolution_to_linear
from swath.passes.dead_code import dead_code
from swath.passes.delay_permutes import delay_permutes
from swath.passes.fold_affine import fold_affine
from swath.passes.fold_constants import fold_constants
from swath.passes.fuse_parallel_linears import fuse_parallel_linears
from swath.passes.lower_attention import lower_attention
from swath.passes.lower_batch_norm import lower_batch_norm
from swath.passes.lower_layer_norm import lower_layer_norm
from swath.passes.matmul_to_linear import matmul_to_linear
from swath.passes.pack import pack
from swath.passes.reorder_weights import reorder_weights
from swath.passes.simplify import simplify

Pass = Callable[[Graph], Graph]

PIPELINE: tuple[Pass, ...] = (
    dead_code,
    # What depends on no input
    fold_constants,
    # Composite ops as simple ones
    lower_batch_norm,
    lower_attention,
    lower_layer_norm,
    simplify,
    contract_products,
    matmul_to_linear,
    convolution_to_linear,
    fold_affine,
    common_subexpressions,
    dead_code,
    # Loops over columns and pairs that were unrolled
    pack,
    fuse_parallel_linears,
    simplify,
    delay_permutes,
    simplify,
    reorder_weights,
    # What the passes before left behind
    fold_constants,
    simplify,
    fold_constants,
    common_subexpressions,
    dead_code,
)

# Code generation relies on these.
REQUIRED: frozenset[str] = frozenset(
    {"dead_code", "lower_attention", "lower_batch_norm", "lower_layer_norm"}
)
OPTIONAL: tuple[str, ...] = tuple(
    dict.fromkeys(step.__name__ for step in PIPELINE if step.__name__ not in REQUIRED)
)


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did: nodes and constants before and after, seconds it took."""

    name: str
    nodes_before: int
    nodes_after: int
    constants_before: int
    constants_after: int
    seconds: float


def run(
    graph: Graph, options: Options, keep: Callable[[str, Graph], None] | None = None
) -> tuple[Graph, list[PassReport]]:
    """The graph behind all passes, and a report of each.

    `keep` is called with the name of each pass and the graph behind it (`swath compare --bisect`,
    `swath inspect`). Raises SwathError if `options.disabled_passes` names what can't be left out.
    """
    _check_names(options.disabled_passes)
    reports: list[PassReport] = []
    for step in PIPELINE:
        if step.__name__ in options.disabled_passes:
            continue
        before, start = graph, time.perf_counter()
        graph = step(before)
        reports.append(_report(step.__name__, before, graph, time.perf_counter() - start))
        if keep is not None:
            keep(step.__name__, graph)
    return graph, reports


def _report(name: str, before: Graph, after: Graph, seconds: float) -> PassReport:
    return PassReport(
        name,
        len(before.nodes),
        len(after.nodes),
        len(before.constant_values),
        len(after.constant_values),
        seconds,
    )


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in OPTIONAL:
            why = "it is needed" if name in REQUIRED else "there is no pass of this name"
            raise SwathError(
                Problem(
                    "SW080",
                    f"the pass `{name}` can't be disabled",
                    why,
                    f"choose among {', '.join(OPTIONAL)}",
                    Where(module="options.disabled_passes"),
                )
            )
