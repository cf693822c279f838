"""einsum as permutations, reshapes, matrix products and sums.

Operands are contracted two at a time from the left. A letter of a pair is

    shared       in both, and still wanted afterwards: a leading axis of the matrix product
    contracted   in both, and wanted no more
    free         in one only; summed at once if it is wanted no more
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swath.frontends.context import Context
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import unsupported_form
from swath.graph.ir import Value
from swath.graph.ops.base import product
from swath.graph.types import Dim

# Letters for the axes that an ellipsis stands for; equations use ASCII ones.
_ELLIPSIS = "αβγδεζηθ"


def einsum(
    context: Context, equation: str, tensors: Sequence[Value], *, path: Sequence[int] | None = None
) -> Value:
    """torch.einsum; `path` only says in which order, which the result doesn't depend on."""
    del path
    terms, output = parse(context, equation, [value.type.rank for value in tensors])
    for term in terms:
        if len(set(term)) != len(term):
            raise unsupported_form(context.op, f"a letter twice in one operand: {equation}")
    letters, value = terms[0], tensors[0]
    for i in range(1, len(terms)):
        wanted = output + "".join(terms[i + 1 :])
        letters, value = _contract(context, (letters, value), (terms[i], tensors[i]), wanted)
    letters, value = _sum_unwanted(context, letters, value, output)
    return context.permute(value, [letters.index(letter) for letter in output])


def parse(context: Context, equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Letters of each operand and of the result, ellipses written out."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise unsupported_form(context.op, f"{len(ranks)} operands for {equation!r}")
    widest = 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if "..." in term:
            axes = rank - len(term) + 3
            widest = max(widest, axes)
            terms[i] = term.replace("...", _ELLIPSIS[len(_ELLIPSIS) - axes :])
    whole = _ELLIPSIS[len(_ELLIPSIS) - widest :] if widest else ""
    if arrow:
        return terms, right.replace("...", whole)
    letters = "".join(terms)
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in _ELLIPSIS)
    return terms, whole + "".join(once)


Term = tuple[str, Value]


def _contract(context: Context, a: Term, b: Term, wanted: str) -> Term:
    a = _sum_unwanted(context, *a, wanted + b[0])
    b = _sum_unwanted(context, *b, wanted + a[0])
    shared = [c for c in a[0] if c in b[0] and c in wanted]
    contracted = [c for c in a[0] if c in b[0] and c not in wanted]
    free_a = [c for c in a[0] if c not in b[0]]
    free_b = [c for c in b[0] if c not in a[0]]
    order = "".join(shared + free_a + free_b)
    if not contracted:
        left = _aligned(context, a, order)
        right = _aligned(context, b, order)
        return order, context.binary("mul", left, right)
    sizes = {
        c: size for term in (a, b) for c, size in zip(term[0], term[1].type.shape, strict=True)
    }
    left = _matrix(context, a, (shared, free_a, contracted))
    right = _matrix(context, b, (shared, contracted, free_b))
    result = context.matmul(left, right)
    return order, context.reshape(result, _sizes(context, result, order, sizes, len(shared)))


def _sizes(
    context: Context, result: Value, order: str, sizes: Mapping[str, Dim], shared: int
) -> list[Dim]:
    """The shape of the product with its merged axes apart again."""
    del context
    return [*result.type.shape[:shared], *(sizes[c] for c in order[shared:])]


def _aligned(context: Context, term: Term, order: str) -> Value:
    """The operand with an axis (maybe of size 1) for each letter of `order`."""
    letters, value = term
    present = [c for c in order if c in letters]
    value = context.permute(value, [letters.index(c) for c in present])
    sizes = dict(zip(present, value.type.shape, strict=True))
    return context.reshape(value, [sizes.get(c, 1) for c in order])


def _matrix(context: Context, term: Term, groups: tuple[list[str], list[str], list[str]]) -> Value:
    """The operand with the letters of the last two groups merged into one axis each."""
    letters, value = term
    value = context.permute(value, [letters.index(c) for group in groups for c in group])
    shape = value.type.shape
    lead, middle = len(groups[0]), len(groups[0]) + len(groups[1])
    return context.reshape(
        value, (*shape[:lead], product(shape[lead:middle]), product(shape[middle:]))
    )


def _sum_unwanted(context: Context, letters: str, value: Value, wanted: str) -> Term:
    axes = tuple(i for i, letter in enumerate(letters) if letter not in wanted)
    kept = "".join(letter for letter in letters if letter in wanted)
    return kept, context.reduce("sum", value, axes, False)


RULES: Mapping[str, Rule] = aliases(einsum, "einsum.default")
