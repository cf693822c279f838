"""The kernels of a program, in the order in which they run over each swath of rows.

    Program   = kernels, buffers, weights blob, tables
    Kernel    = Pointwise | Reduction | Product | Lookup | Bag | Rearrange | Order | ScatterStore

Every kernel does all rows of a swath. `finish` is an expression that holds `Result`: what is done
to each element before it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from swath.tile.expressions import Expression, Load, views_of
from swath.tile.views import Buffer, View


@dataclass(frozen=True, slots=True)
class Pointwise:
    """destination[i] = value[i]; both have one shape."""

    destination: View
    value: Expression
    comment: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """Combine `value` (over `shape`) along `axes` by sum, mean, max, min, prod, any or all;
    `destination` and the loads of `finish` have size 1 along those axes."""

    destination: View
    function: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    value: Expression
    finish: Expression
    comment: str


@dataclass(frozen=True, slots=True)
class Product:
    """destination[..., m, n] = finish(sum over k of left[..., m, k] * right[..., k, n]).

    `right` is a view with stride 1 along n (with stride 1 along k, if `turned`: each call packs it
    first), or, if `packed`, weights in panels of 16 columns: view shape [..., ceil(N / 16), K, 16].
    """

    destination: View
    left: View
    right: View
    packed: bool
    finish: Expression
    comment: str
    turned: bool = False

    @property
    def depth(self) -> int:
        """The number of products summed up."""
        return self.left.shape[-1]


@dataclass(frozen=True, slots=True)
class LookupEntry:
    """One table of a lookup: which rows it has, and what happens to an id outside of them.

    `number` is the position in the artefact's list of lookups, which names faults.
    """

    table: Buffer
    rows: int
    policy: str
    default_row: int
    number: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """destination[..., t, :] = entries[t].table[ids[..., t], :]."""

    destination: View
    ids: Expression
    entries: tuple[LookupEntry, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class Bag:
    """destination[0, :] = the rows of a table pooled over the ids of the row's bag.

    `ids` and `weights` are whole ragged inputs; the bag of row r is offsets[r] up to the next
    offset, or up to the end of the ids for the last row."""

    destination: View
    ids: Buffer
    offsets: Buffer
    weights: Buffer | None
    entry: LookupEntry
    mode: str
    padding_id: int
    comment: str


@dataclass(frozen=True, slots=True)
class Rearrange:
    """destination[..., i, :] = source[..., indices[i], :] along one axis."""

    destination: View
    source: View
    axis: int
    indices: tuple[int, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class Order:
    """An order along one axis: "sort", "topk", "argmax", "argmin", "cumsum" or "cumprod".

    `values` and `indices` are where the results go (None: not asked for)."""

    function: str
    source: View
    axis: int
    count: int
    descending: bool
    values: View | None
    indices: View | None
    comment: str


@dataclass(frozen=True, slots=True)
class ScatterStore:
    """destination[i + sum(position * stride)] = (or +=) source[i], one after the other in
    row-major order. `destination` has the shape of `source` and stride 0 along the index axes;
    `strides` and `sizes` are those of the axes that the positions index."""

    destination: View
    source: View
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    positions: tuple[Expression, ...]
    accumulate: bool
    comment: str


Kernel = Pointwise | Reduction | Product | Lookup | Bag | Rearrange | Order | ScatterStore


@dataclass(slots=True)
class Program:
    """Everything that a target needs to write code."""

    kernels: list[Kernel] = field(default_factory=list[Kernel])
    rows_per_swath: int = 0
    scratch_offsets: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    scratch_bytes: int = 0
    weight_offsets: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    addresses: int = 0  # where in the scratch the addresses of table rows begin


def expressions_of(kernel: Kernel) -> list[Expression]:
    """The expressions that a kernel evaluates."""
    if isinstance(kernel, Pointwise):
        return [kernel.value]
    if isinstance(kernel, Reduction):
        return [kernel.value, kernel.finish]
    if isinstance(kernel, Product):
        return [kernel.finish, Load(kernel.left), Load(kernel.right)]
    if isinstance(kernel, Lookup):
        return [kernel.ids]
    if isinstance(kernel, Rearrange | Order):
        return [Load(kernel.source)]
    if isinstance(kernel, ScatterStore):
        return [Load(kernel.source), *kernel.positions]
    return []


def reads_of(kernel: Kernel) -> list[Buffer]:
    """The buffers that a kernel reads."""
    buffers = [view.buffer for e in expressions_of(kernel) for view in views_of(e)]
    if isinstance(kernel, Bag):
        buffers += [b for b in (kernel.ids, kernel.offsets, kernel.weights) if b is not None]
    return list(dict.fromkeys(buffers))


def writes_of(kernel: Kernel) -> list[Buffer]:
    """The buffers that a kernel writes."""
    if isinstance(kernel, Order):
        return [view.buffer for view in (kernel.values, kernel.indices) if view is not None]
    return [kernel.destination.buffer]
