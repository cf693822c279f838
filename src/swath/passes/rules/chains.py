"""Reshapes and permutes in a row: what they do together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swath.graph.ir import Value
from swath.graph.ops import Expand, Permute, Reshape
from swath.graph.ops.base import Op
from swath.passes.rewriter import Inputs, Made, Rewriter, Rule, is_static


def chain_of_views(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """Permutes that undo one another are a reshape, also with reshapes between; several permutes
    that nothing else reads are one.

    Before:
        input %x: f32[1,4,3,2] @candidate
        %a: f32[1,3,2,4] @candidate = permute(%x, axes=[0, 2, 3, 1])
        %b: f32[1,6,4] @candidate = reshape(%a, shape=[1, 6, 4])
        %c: f32[1,4,6] @candidate = permute(%b, axes=[0, 2, 1])
        return %c
    After:
        input %x: f32[1,4,3,2] @candidate
        %c: f32[1,4,6] @candidate = reshape(%x, shape=[1, 4, 6])
        return %c

    Before:
        input %x: f32[2,3,4] @candidate
        %a: f32[3,2,4] @candidate = permute(%x, axes=[1, 0, 2])
        %b: f32[6,4] @candidate = reshape(%a, shape=[6, 4])
        %c: f32[4,6] @candidate = permute(%b, axes=[1, 0])
        return %c
    After:
        input %x: f32[2,3,4] @candidate
        %c.permute: f32[4,3,2] @candidate = permute(%x, axes=[2, 1, 0])
        %c: f32[4,6] @candidate = reshape(%c.permute, shape=[4, 6])
        return %c
    """
    if not isinstance(op, Reshape | Permute) or not is_static(*inputs):
        return None
    ops, values = _chain(rewriter, op, inputs[0])
    # A chain that can't be followed from its beginning may be from a later value.
    for start in range(len(ops) - 1):
        if not any(isinstance(link, Permute) for link in ops[start:]):
            return None
        order = _compose(values[start].type.static_shape, ops[start:])
        if order is not None:
            private = all(rewriter.uses(value) == 1 for value in values[start + 1 :])
            return _canonical(rewriter, ops[start:], values[start], order, private)
    return None


def stored_in_order(rewriter: Rewriter, op: Permute, value: Value) -> Value | None:
    """What `op` of `value` is a reshape of if it undoes the permutes before it, else None."""
    ops, values = _chain(rewriter, op, value)
    for start, source in enumerate(values):
        order = _compose(source.type.static_shape, ops[start:])
        if order is not None and len(order.axes) < 2:
            return source
    return None


def _chain(rewriter: Rewriter, op: Op, value: Value) -> tuple[list[Op], list[Value]]:
    """The views in the order of application, and what each is applied to."""
    ops, values = [op], [value]
    while True:
        node = rewriter.producer(values[0])
        if node is None or not isinstance(node.op, Reshape | Permute):
            return ops, values
        ops.insert(0, node.op)
        values.insert(0, node.inputs[0])


@dataclass(frozen=True, slots=True)
class _Order:
    """The source as axes of `sizes`, read in the order `axes`."""

    sizes: tuple[int, ...]
    axes: tuple[int, ...]


def _canonical(
    rewriter: Rewriter, ops: Sequence[Op], source: Value, order: _Order, private: bool
) -> Made:
    shape = source.type.static_shape
    for link in ops:
        shape = _shape_after(shape, link)
    if len(order.axes) < 2:
        return Reshape(shape), (source,)
    permutes = sum(isinstance(link, Permute) for link in ops)
    if permutes < 2 or not private:
        return None
    permuted = tuple(order.sizes[axis] for axis in order.axes)
    split = source
    if order.sizes != source.type.shape:
        split = rewriter.add(Reshape(order.sizes), source)
    if permuted == shape:
        return Permute(order.axes), (split,)
    return Reshape(shape), (rewriter.add(Permute(order.axes), split),)


def _shape_after(shape: tuple[int, ...], op: Op) -> tuple[int, ...]:
    if isinstance(op, Permute):
        return tuple(shape[axis] for axis in op.axes)
    if isinstance(op, Reshape):
        return tuple(size for size in op.shape if isinstance(size, int))
    raise TypeError(f"{op} is no reshape or permute")


@dataclass(slots=True, eq=False)
class _Atom:
    """Part of an axis of the source that all views leave whole."""

    size: int


def _compose(shape: tuple[int, ...], ops: Sequence[Op]) -> _Order | None:
    """What the views do together; None if an axis is cut where none of the source is."""
    if 0 in shape:
        return None
    atoms = [_Atom(size) for size in shape]
    axes = [[atom] for atom in atoms]
    for op in ops:
        if isinstance(op, Permute):
            axes = [axes[axis] for axis in op.axes]
        elif isinstance(op, Reshape):
            regrouped = _regroup(axes, _shape_after((), op), atoms)
            if regrouped is None:
                return None
            axes = regrouped
    return _merged(atoms, [atom for axis in axes for atom in axis])


def _regroup(
    axes: list[list[_Atom]], shape: tuple[int, ...], atoms: list[_Atom]
) -> list[list[_Atom]] | None:
    """The atoms as axes of another shape; atoms are split where an axis ends inside of them."""
    rest = [atom for axis in axes for atom in axis if atom.size > 1][::-1]
    result: list[list[_Atom]] = []
    for size in shape:
        taken: list[_Atom] = []
        while size > 1:
            atom = rest.pop()
            if size % atom.size == 0:
                size //= atom.size
            elif atom.size % size == 0:
                inner = _Atom(atom.size // size)
                atoms.insert(atoms.index(atom) + 1, inner)
                rest.append(inner)
                atom.size, size = size, 1
            else:
                return None
            taken.append(atom)
        result.append(taken)
    return result


def _merged(atoms: list[_Atom], order: list[_Atom]) -> _Order:
    """Atoms that are neighbours in the source and in the result are one axis."""
    place = {atom: i for i, atom in enumerate(a for a in atoms if a.size > 1)}
    groups: list[list[_Atom]] = []
    for atom in order:
        if atom.size == 1:
            continue
        if groups and place[atom] == place[groups[-1][-1]] + 1:
            groups[-1].append(atom)
        else:
            groups.append([atom])
    by_source = sorted(groups, key=lambda group: place[group[0]])
    sizes: list[int] = []
    for group in by_source:
        size = 1
        for atom in group:
            size *= atom.size
        sizes.append(size)
    return _Order(tuple(sizes), tuple(by_source.index(group) for group in groups))


def reshape_of_expand(rewriter: Rewriter, op: Op, inputs: Inputs) -> Made:
    """A reshape that only adds or drops axes of size 1 comes before an expand, where it may meet
    other reshapes, and the expand may meet what doesn't need it.

    Before:
        input %x: f32[1,20,1,1] @candidate
        %b: f32[1,20,1,8] @candidate = expand(%x, shape=[1, 20, 1, 8])
        %c: f32[1,20,8] @candidate = reshape(%b, shape=[1, 20, 8])
        return %c
    After:
        input %x: f32[1,20,1,1] @candidate
        %c.reshape: f32[1,20,1] @candidate = reshape(%x, shape=[1, 20, 1])
        %c: f32[1,20,8] @candidate = expand(%c.reshape, shape=[1, 20, 8])
        return %c
    """
    made = rewriter.made_by(inputs[0], Expand) if isinstance(op, Reshape) else None
    if made is None or not is_static(*inputs) or not isinstance(op, Reshape):
        return None
    (source,), wide = made[1], inputs[0].type.static_shape
    padded = (1,) * (len(wide) - source.type.rank) + source.type.static_shape
    sizes = [(new, old) for new, old in zip(wide, padded, strict=True) if new != 1]
    if [new for new, _ in sizes] != [size for size in op.shape if size != 1]:
        return None
    olds = iter([old for _, old in sizes])
    shape = tuple(1 if size == 1 else next(olds) for size in op.shape)
    narrow = source if shape == source.type.shape else rewriter.add(Reshape(shape), source)
    return Expand(op.shape), (narrow,)


CHAIN_RULES: tuple[Rule, ...] = (chain_of_views, reshape_of_expand)
