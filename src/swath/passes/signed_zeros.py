"""Where the sign of a zero can be seen.

`x + 0` differs from `x` where x is -0 alone. PyTorch's own kernels don't promise the sign of a zero
in a result (it depends on the order of a sum), so that an output of the graph doesn't show it; a
division by it does.
"""

from __future__ import annotations

from swath.graph.ir import Graph, Node, Value
from swath.graph.ops import ArgReduce, Binary, Sort, TopK, Unary

_SHOWING_UNARY = frozenset({"reciprocal", "rsqrt", "log", "log2"})
_SHOWING_BINARY = frozenset({"div", "pow", "atan2", "floor_divide", "remainder"})
_HIDING_UNARY = frozenset({"abs", "exp", "sigmoid", "softplus", "square", "cos", "isnan"})
_HIDING_BINARY = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def shown_signed_zeros(graph: Graph) -> set[Value]:
    """The values of which a zero's sign changes more than the sign of a zero in an output."""
    shown: set[Value] = set()
    for node in reversed(graph.nodes):
        if _shows(node) or (not shown.isdisjoint(node.outputs) and not _hides(node)):
            shown.update(node.inputs)
    return shown


def _shows(node: Node) -> bool:
    op = node.op
    if isinstance(op, Unary):
        return op.function in _SHOWING_UNARY
    if isinstance(op, Binary):
        return op.function in _SHOWING_BINARY
    return isinstance(op, Sort | TopK | ArgReduce)


def _hides(node: Node) -> bool:
    op = node.op
    if isinstance(op, Unary):
        return op.function in _HIDING_UNARY
    return isinstance(op, Binary) and op.function in _HIDING_BINARY
