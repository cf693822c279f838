"""Symbolic sizes of an exported program as sizes of the graph.

Every size is an expression of torch's size symbols. `Sizes` knows what each symbol stands for, a
multiple of the batch or the length of a ragged input, and evaluates expressions over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from swath.frontends.unsupported import Unsupported
from swath.graph.types import BatchSize, Dim, RaggedSize, Shape

# An expression is taken as linear in the batch if it is at all of these: floor divisions and
# remainders with the small divisors of model code would differ at one of them.
_PROBES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 30, 64, 1009, 65537)


@dataclass(slots=True)
class Sizes:
    """Evaluates sizes; `symbols` says what torch's symbols stand for."""

    symbols: dict[Any, Any]
    _known: dict[Any, Dim] = field(default_factory=dict[Any, Dim])

    def shape(self, shape: torch.Size | tuple[Any, ...]) -> Shape:
        """A shape of torch as a shape of the graph. Raises Unsupported."""
        return tuple(size if type(size) is int else self.dim(size) for size in shape)

    def dim(self, size: Any) -> Dim:
        """One size. Raises Unsupported if it isn't a multiple of the batch."""
        if isinstance(size, int):
            return size
        raw: Any = size.node
        key = raw._expr
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.evaluate(raw.expr)
        return known

    def bind(self, stated: Iterable[Any], actual: Shape) -> None:
        """Let a symbol that torch took from constant data stand for the size that it has."""
        for size, known in zip(stated, actual, strict=True):
            if not isinstance(size, int):
                expression = size.node.expr
                if expression.is_Symbol and expression not in self.symbols:
                    self.symbols[expression] = known

    def number(self, value: Any) -> bool | float:
        """A number computed from sizes that is the same for every batch. Raises Unsupported."""
        expression = value.node.expr
        dims = {symbol: self.symbols.get(symbol) for symbol in expression.free_symbols}
        if any(not isinstance(dim, int | float | BatchSize) for dim in dims.values()):
            raise data_dependent_size()
        results = {
            expression.xreplace({s: at_batch(_present(d), b) for s, d in dims.items()})
            for b in _PROBES
        }
        if len(results) > 1:
            raise Unsupported(
                "SW013",
                f"a number is computed from the size of the batch: {expression}",
                "the result of a row must not depend on how many rows the call has",
                "use a constant or an input instead of x.shape[0]",
            )
        only = results.pop()
        return bool(only) if only.is_Boolean else float(only)

    def evaluate(self, expression: Any) -> Dim:
        """A sympy expression as a size. Raises Unsupported."""
        if expression.is_number:
            return int(expression)
        symbols = expression.free_symbols
        dims = {symbol: self.symbols.get(symbol) for symbol in symbols}
        if any(dim is None for dim in dims.values()):
            raise data_dependent_size()
        if expression.is_Symbol:
            return _present(dims[expression])
        if any(isinstance(dim, RaggedSize) for dim in dims.values()):
            raise Unsupported(
                "SW015",
                f"an axis has the size {expression}, computed from the length of a ragged input",
                "the values of a ragged input can be looked up and pooled, not regrouped",
                "pool the values with nn.EmbeddingBag and its offsets",
            )
        return _linear(expression, dims)


def is_fixed(size: Any) -> bool:
    """True for a size that is the same in every call."""
    return isinstance(size, int) or bool(size.node.expr.is_number)


def _present(dim: Dim | None) -> Dim:
    assert dim is not None
    return dim


def _linear(expression: Any, dims: dict[Any, Dim | None]) -> Dim:
    def at(batch: int) -> int:
        values = {symbol: at_batch(_present(dim), batch) for symbol, dim in dims.items()}
        return int(expression.xreplace(values).doit())

    multiple = at(3) - at(2)
    extra = at(2) - 2 * multiple
    if any(at(batch) != multiple * batch + extra for batch in _PROBES):
        raise odd_size(str(expression))
    return make_dim(multiple, extra)


def at_batch(dim: Any, batch: int) -> Any:
    """The size at a batch (of a size that is no ragged one)."""
    if isinstance(dim, BatchSize):
        return dim.multiple * batch + dim.extra
    return dim


def make_dim(multiple: int, extra: int) -> Dim:
    """`multiple * batch + extra` as a size. Raises Unsupported for what the graph can't hold."""
    if multiple == 0:
        return extra
    if extra == 0 or (multiple == 1 and extra == 1):
        return BatchSize(multiple, extra)
    raise odd_size(f"{multiple} * batch {extra:+d}")


def odd_size(text: str) -> Unsupported:
    """A size that depends on the batch in another way than as a multiple of it."""
    return Unsupported(
        "SW023",
        f"an axis has the size {text}",
        "a size must be fixed or a multiple of the batch, so that each row has a part of its own",
        "do not slice, pad or divide the batch axis in the model",
    )


def data_dependent_size() -> Unsupported:
    """A size that is known only when the data is."""
    return Unsupported(
        "SW010",
        "the size of a tensor depends on the data",
        "output sizes must follow from input sizes",
        "keep the full size and mask: torch.where(mask, x, 0) instead of x[mask]",
    )
