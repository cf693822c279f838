"""What debatching refuses, in the words of the error catalogue."""

from __future__ import annotations

from swath.errors import InternalError, Problem, Where
from swath.graph.ir import Node, Origin, Value
from swath.graph.ops.base import RowNumberError, RowRuleError

_WHY = "the result of a row must not depend on the other rows of the call, nor on their number"
_FIX = "keep the batch axis out of this step, or do it outside of the model"


def mixed_rows(node: Node, error: RowRuleError) -> Problem:
    """The row rule of `node` has refused it."""
    id = "SW031" if isinstance(error, RowNumberError) else "SW030"
    return Problem(id, f"the model {error}", _WHY, error.fix or _FIX, _where(node.origin))


def returned_row_number(value: Value) -> Problem:
    """An output is arange(batch) or follows from it."""
    return Problem(
        "SW031",
        f"the output `{value.name}` is the position of the row in the batch",
        _WHY,
        "leave it out of the outputs; the caller knows the positions",
        _where(value.origin),
    )


def batched_constant(value: Value) -> Problem:
    """A constant has a size that depends on the batch."""
    return Problem(
        "SW032",
        f"the constant `{value.name}` has the batch in its shape {value.type}",
        "a constant is the same in every call; torch.export has stored a value of the example "
        "inputs in its place (this happens behind `.data` and `.detach()` tricks)",
        "compute the value in `forward` from the inputs, without `.data`",
        _where(value.origin),
    )


def two_batch_axes(value: Value) -> Problem:
    """An input has two axes that depend on the call."""
    return Problem(
        "SW033",
        f"the input `{value.name}` has two dynamic axes: {value.type}",
        "rows lie along one axis; a second dynamic size would need ragged storage",
        "make one of the axes static in `dynamic_shapes`, padding to its largest size",
        _where(value.origin),
    )


def ragged_output(value: Value) -> Problem:
    """An output has one element per position of a ragged input."""
    return Problem(
        "SW034",
        f"the output `{value.name}` has one element for each value of a ragged input",
        "an output must have a fixed size for each row",
        "pool over the values of a row (embedding_bag), or pad the sequences",
        _where(value.origin),
    )


def layout_defect(node: Node, value: Value, what: str) -> InternalError:
    """The shape rule and the row rule of an op disagree."""
    return InternalError(
        Problem(
            "SW920",
            f"the result {value!r} of `{node.op.name}` {what}",
            "the shape rule and the row rule of an op must agree",
            f"op developer: correct `infer` or `row` of {node.op}",
            _where(node.origin),
        )
    )


def _where(origin: Origin | None) -> Where:
    if origin is None:
        return Where()
    return Where(
        module=origin.module or None,
        file=origin.file or None,
        line=origin.line or None,
        source=origin.source or None,
    )
