"""What a model needs at least, counted on eager PyTorch: operations, weights, table rows.

The count is independent of how a compiler runs the model: every multiply, add and elementary
function of the eager program is one operation (so the bound is a low one where there are many exp
or tanh), every weight is read once a call, every row that is looked up once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from benchmarks.models import Made
from swath.report.bench_case import tensors_of
from swath.report.machine import Machine

LOOKUPS = (
    torch.ops.aten.embedding,
    torch.ops.aten._embedding_bag,
    torch.ops.aten._embedding_bag_forward_only,
)
COUNTED_ROWS = 256
LINE_BYTES = 64


@dataclass(frozen=True)
class Rows:
    """The table rows of one batch size, in 64-byte lines.

    `lines` are the distinct ones of one call, `touched_bytes` the size of the distinct ones of all
    input sets together, which decides whether they stay in the last cache.
    """

    lines: float
    touched_bytes: int


@dataclass(frozen=True)
class Cost:
    """The work of one model; `rows` by batch size."""

    operations_per_row: float
    weight_bytes: int
    rows: Mapping[int, Rows]


@dataclass(frozen=True)
class Limit:
    """The least microseconds that one core needs for a call, by what takes them."""

    arithmetic: float
    rows: float
    weights: float

    @property
    def least(self) -> float:
        """The largest of the three, which all overlap at best."""
        return max(self.arithmetic, self.rows, self.weights)

    @property
    def bound(self) -> str:
        """What the largest of the three is."""
        names = {"arithmetic": self.arithmetic, "table rows": self.rows, "weights": self.weights}
        return max(names, key=lambda name: names[name])


class Counter(TorchDispatchMode):
    """Counts the operations and collects the ids looked up in each table while eager runs."""

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore
        self.operations = 0
        self.lookups: list[tuple[Tensor, Tensor]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        packet = func.overloadpacket
        if packet in (
            torch.ops.aten.embedding,
            torch.ops.aten._embedding_bag_forward_only,
            torch.ops.aten._embedding_bag,
        ):
            self.lookups.append((args[0], args[1]))
        elif packet in flop_registry:
            self.operations += flop_registry[packet](*args, **(kwargs or {}), out_val=out)
        elif torch.Tag.pointwise in func.tags:
            self.operations += sum(tensor.numel() for tensor in tensors_of(out))
        elif any(name in str(packet) for name in ("sum", "mean", "softmax", "amax", "prod")):
            self.operations += sum(tensor.numel() for tensor in tensors_of(args))
        return out


def cost_of(made: Made, batches: Sequence[int], sets: int) -> Cost:
    """Counts a model on eager PyTorch; `batches` and `sets` are those of the bench."""
    model, _, make_inputs = made
    with torch.no_grad(), Counter() as counter:
        model(*make_inputs(COUNTED_ROWS, 0))
    tables = {
        module.weight.data_ptr()
        for module in model.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
    }
    weights = [weight for weight in model.parameters() if weight.data_ptr() not in tables]
    return Cost(
        counter.operations / COUNTED_ROWS,
        sum(weight.numel() * weight.element_size() for weight in weights),
        {batch: rows_of(made, batch, sets) for batch in batches},
    )


def rows_of(made: Made, batch: int, sets: int) -> Rows:
    """The table rows that the input sets of one batch size look up."""
    model, _, make_inputs = made
    seen: dict[int, tuple[Tensor, list[Tensor]]] = {}
    lines = 0
    for seed in range(sets):
        with torch.no_grad(), Counter() as counter:
            try:
                model(*make_inputs(batch, seed))
            except RuntimeError:
                # Eager can't run some models on one row; a second one doesn't change the picture.
                model(*make_inputs(batch + 1, seed))
        for table, ids in counter.lookups:
            seen.setdefault(table.data_ptr(), (table, []))[1].append(ids)
            lines += distinct_lines(table, [ids])
    touched = sum(distinct_lines(table, ids) for table, ids in seen.values())
    return Rows(lines / sets, touched * LINE_BYTES)


def distinct_lines(table: Tensor, ids: Sequence[Tensor]) -> int:
    """The 64-byte lines that hold these rows of a table; several narrow rows share one."""
    row_bytes = table.shape[1] * table.element_size()
    begins = torch.cat([part.reshape(-1) for part in ids]).numpy() * row_bytes
    lines_per_row = -(-row_bytes // LINE_BYTES)
    return int(np.unique(begins // LINE_BYTES).size) * lines_per_row


def limit_of(cost: Cost, machine: Machine, batch: int) -> Limit:
    """The least time of a call of `batch` rows on one core of `machine`."""
    rows = cost.rows[batch]
    return Limit(
        machine.arithmetic_seconds(cost.operations_per_row * batch) * 1e6,
        machine.row_seconds(rows.lines, rows.touched_bytes) * 1e6,
        machine.weight_seconds(cost.weight_bytes) * 1e6,
    )
