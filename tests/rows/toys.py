"""Small batched graphs: those that mix rows, and odd ones that don't.

To add one, add a line: a name, the graph as text (inputs and `return %y` are added), and for a
mixing one a part of the message. Inputs: see INPUTS; a graph gets those that it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from swath.graph.ir import Array, Graph, Value
from swath.graph.parser import parse_graph

INPUTS = {
    "x": "f32[B,4]",
    "items": "f32[B,3,4]",
    "flat": "f32[12B]",
    "one": "i64[B]",
    "two": "i64[B,2]",
    "ids": "i64[~ids]",
    "offsets": "i64[B]",
    "ends": "i64[B+1]",
    "shared": "f32[4]",
}
CONSTANTS = {
    "table": "f32[3,4]",
    "weight": "f32[5,4]",
    "row": "f32[1,4]",
    "channel": "f32[4]",
}
BATCH_NUMBERS = "%n = iota(length=B, start=0, step=1, dtype=i64)\n"

MIXING: Mapping[str, tuple[str, str]] = {
    "plus the first row": (
        """%first = slice(%x, axis=0, start=0, stop=1)
        %y = binary(%x, %first, function="add")""",
        "takes a part of the batch axis",
    ),
    "times the position": (
        BATCH_NUMBERS
        + """%f = cast(%n, dtype=f32)
        %c = reshape(%f, shape=[B,1])
        %y = binary(%x, %c, function="mul")""",
        "computes `mul` with the position of a row",
    ),
    "sine of the position": (
        BATCH_NUMBERS + '%f = cast(%n, dtype=f32)\n%y = unary(%f, function="sin")',
        "uses the position of a row in the batch as a number",
    ),
    "mask by position": (
        BATCH_NUMBERS + '%y = binary(%n, %one, function="lt")',
        "computes `lt` with the position of a row",
    ),
    "embedding of the position": (
        BATCH_NUMBERS + "%y = embedding(%table, %n)",
        "uses the position of a row in the batch as a number",
    ),
    "small position": (BATCH_NUMBERS + "%y = cast(%n, dtype=i8)", "makes the position of a row i8"),
    "position as output": (
        BATCH_NUMBERS + "%y = cast(%n, dtype=f32)",
        "is the position of the row",
    ),
    "softmax over the batch": ("%y = softmax(%x, axis=0)", "takes the softmax over the batch axis"),
    "mean over the batch": (
        """%m = reduce(%x, function="mean", axes=[0], keepdim=true)
        %y = binary(%x, %m, function="sub")""",
        "averages over the batch axis",
    ),
    "sum of everything": (
        '%y = reduce(%x, function="sum", axes=[0,1], keepdim=false)',
        "sums over the batch axis",
    ),
    "argmax over the batch": (
        '%y = arg_reduce(%x, function="max", axis=0, keepdim=false)',
        "finds the max over the batch axis",
    ),
    "running sum over the batch": (
        '%y = cumulative(%x, function="sum", axis=0)',
        "takes the running sum over the batch axis",
    ),
    "sort over the batch": (
        "%y, %i = sort(%x, axis=0, descending=false)",
        "sorts the batch axis",
    ),
    "best of the batch": (
        "%y, %i = topk(%x, k=1, axis=0, largest=true)",
        "orders the batch axis",
    ),
    "all by all": (
        "%t = permute(%x, axes=[1,0])\n%y = matmul(%x, %t)",
        "multiplies every row with every other row",
    ),
    "batch contracted": (
        "%t = permute(%x, axes=[1,0])\n%y = matmul(%t, %x)",
        "contracts the batch axis",
    ),
    "weights from the batch": (
        "%t = permute(%x, axes=[1,0])\n%y = linear(%row, %x)",
        "has the batch axis in its weights",
    ),
    "pairwise differences": (
        """%a = reshape(%x, shape=[B,1,4])
        %b = reshape(%x, shape=[1,B,4])
        %y = binary(%a, %b, function="sub")""",
        "pairs every row with every other row",
    ),
    "square of the batch": (
        "%c = slice(%x, axis=1, start=0, stop=1)\n%y = expand(%c, shape=[B,B])",
        "the batch on two axes",
    ),
    "ones of batch by batch": (
        "%y = fill(shape=[B,B], value=1.0, dtype=f32)",
        "the batch on two axes",
    ),
    "rows joined to a constant": (
        "%y = concat(%x, %row, axis=0)",
        "joins other elements to the batch axis",
    ),
    "rolled rows": (
        """%a = slice(%x, axis=0, start=1, stop=B)
        %b = slice(%x, axis=0, start=0, stop=1)
        %y = concat(%a, %b, axis=0)""",
        "takes a part of the batch axis",
    ),
    "every second row": (
        """%d = concat(%x, %x, axis=0)
        %y = slice(%d, axis=0, start=0, stop=2B, step=2)""",
        "takes a part of the batch axis",
    ),
    "first rows swapped": ("%y = take(%x, axis=0, indices=[1,0])", "picks elements of the batch"),
    "cut rows": (
        "%t = permute(%x, axes=[1,0])\n%y = reshape(%t, shape=[B,4])",
        "cuts rows: [4,B] to [B,4]",
    ),
    "halves of rows": (
        """%t = permute(%x, axes=[1,0])
        %f = reshape(%t, shape=[4B])
        %y = reshape(%f, shape=[2B,2])""",
        "cuts rows",
    ),
    "layouts confused": (
        """%t = permute(%x, axes=[1,0])
        %a = reshape(%t, shape=[4B])
        %b = reshape(%x, shape=[4B])
        %y = binary(%a, %b, function="add")""",
        "the batch is laid out [4*B] in one operand and [B*4] in another",
    ),
    "rows of other rows": ("%y = index(%x, %one, axes=[0])", "picks elements of the batch axis"),
    "the next row": (
        BATCH_NUMBERS
        + """constant %k: i64[] = -1
        %p = binary(%n, %k, function="add")
        %y = index(%x, %p, axes=[0])""",
        "picks from rows other than its own",
    ),
    "rows by a wrong factor": (
        BATCH_NUMBERS
        + """constant %k: i64[] = 11
        %p = binary(%n, %k, function="mul")
        %q = binary(%p, %one, function="add")
        %y = index(%flat, %q, axes=[0])""",
        "picks from rows other than its own",
    ),
    "column by position": (
        BATCH_NUMBERS + "%y = index(%items, %n, %n, axes=[0,1])",
        "picks elements by the position of the row",
    ),
    "every row by every index": (
        "%y = index(%items, %one, axes=[1])",
        "picks from every row with the indices of every other row",
    ),
    "gather over the batch": (
        "%y = gather(%x, %two, axis=0)",
        "picks elements of the batch axis",
    ),
    "rows write into one table": (
        "%y = index_put(%table, %x, %one, axes=[0], accumulate=true)",
        "lets rows write into one tensor",
    ),
    "rows write into other rows": (
        "%y = index_put(%x, %x, %one, axes=[0], accumulate=false)",
        "picks elements of the batch axis",
    ),
    "scatter over the batch": (
        "%s = slice(%x, axis=1, start=0, stop=2)\n"
        '%y = scatter(%x, %two, %s, axis=0, function="add")',
        "writes at elements of the batch axis",
    ),
    "scatter into one table": (
        "%t = reshape(%one, shape=[B,1])\n%s = slice(%x, axis=1, start=0, stop=1)\n"
        '%y = scatter(%table, %t, %s, axis=0, function="add")',
        "lets rows write into one tensor",
    ),
    "attention over the batch": (
        "%t = permute(%items, axes=[1,0,2])\n%y = attention(%t, %t, %t, scale=0.5, causal=false)",
        "attends over the batch axis",
    ),
    "normalised over the batch": (
        "%t = permute(%x, axes=[1,0])\n%y = layer_norm(%t, axes=1, epsilon=0.001)",
        "normalises over the batch axis",
    ),
    "pooled over channels of the batch": (
        "%t = permute(%x, axes=[1,0])\n%r = reshape(%t, shape=[4,B,1])\n"
        '%y = reduce(%r, function="max", axes=[1], keepdim=false)',
        "takes the maximum over the batch axis",
    ),
    "table from the batch": (
        "%y = embedding(%x, %one)",
        "has the batch axis in the table that is looked up",
    ),
    "bags of one offset": (
        '%f = reshape(%two, shape=[2B])\n%y = embedding_bag(%table, %f, %one, mode="sum", '
        "include_last=false)",
        "pools ids that are not a ragged input",
    ),
    "changed ends": (
        '%e = binary(%ends, %ends, function="maximum")\n'
        '%y = embedding_bag(%table, %ids, %e, mode="sum", include_last=true)',
        "changes the offsets of bags",
    ),
    "starts of the ends": (
        "%e = slice(%ends, axis=0, start=0, stop=B)\n"
        '%y = embedding_bag(%table, %ids, %e, mode="sum", include_last=false)',
        "changes the offsets of bags",
    ),
    "computed offsets": (
        '%e = binary(%offsets, %offsets, function="maximum")\n'
        '%y = embedding_bag(%table, %ids, %e, mode="sum", include_last=false)',
        "computes the offsets of bags",
    ),
    "offsets from lengths": (
        '%e = cumulative(%one, function="sum", axis=0)\n'
        '%y = embedding_bag(%table, %ids, %e, mode="sum", include_last=false)',
        "takes the running sum over the batch axis",
    ),
    "sum of ragged values": (
        '%y = reduce(%ids, function="sum", axes=[0], keepdim=false)',
        "sums over the ragged axis of ids",
    ),
    "ragged output": ("%y = embedding(%table, %ids)", "one element for each value of a ragged"),
    "numbered ragged values": (
        "%y = iota(length=~ids, start=0, step=1, dtype=i64)",
        "numbers the values of ids",
    ),
}

ROW_WISE: Mapping[str, str] = {
    "plain": '%h = linear(%x, %weight)\n%y = unary(%h, function="tanh")',
    "merged [B*3]": """%f = reshape(%items, shape=[3B,4])
        %h = linear(%f, %weight)
        %y = reshape(%h, shape=[B,15])""",
    "merged [3*B]": """%p = permute(%items, axes=[1,0,2])
        %f = reshape(%p, shape=[3B,4])
        %h = linear(%f, %weight)
        %r = reshape(%h, shape=[3,B,5])
        %y = reduce(%r, function="max", axes=[0], keepdim=false)""",
    "merged output [3*B]": "%p = permute(%items, axes=[1,0,2])\n%y = reshape(%p, shape=[3B,4])",
    "heads in the middle": """%r = reshape(%items, shape=[B,3,2,2])
        %p = permute(%r, axes=[1,2,0,3])
        %f = reshape(%p, shape=[6B,2])
        %s = softmax(%f, axis=1)
        %y = reshape(%s, shape=[3,2B,2])""",
    "sequence first": """%t = permute(%items, axes=[1,0,2])
        %s = cumulative(%t, function="sum", axis=0)
        %y = permute(%s, axes=[1,2,0])""",
    "batch last": """%t = permute(%x, axes=[1,0])
        %r = reduce(%x, function="sum", axes=[1], keepdim=false)
        %y = binary(%t, %r, function="mul")""",
    "batch in the middle": """%r = reshape(%x, shape=[1,B,1,4])
        %e = expand(%r, shape=[2,B,3,4])
        %y = reduce(%e, function="mean", axes=[0,3], keepdim=false)""",
    "own row by arange": BATCH_NUMBERS + "%y = index(%items, %n, %one, axes=[0,1])",
    "own row apart": BATCH_NUMBERS
    + """%t = permute(%items, axes=[1,0,2])
        %y = index(%t, %one, %n, axes=[0,1])""",
    "own rows by columns": BATCH_NUMBERS
    + """%c = reshape(%n, shape=[B,1])
        %y = index(%items, %c, %two, axes=[0,1])""",
    "flat index": BATCH_NUMBERS
    + """constant %k: i64[] = 12
        %p = binary(%n, %k, function="mul")
        %q = binary(%p, %one, function="add")
        %y = index(%flat, %q, axes=[0])""",
    "arange of all elements": "%i = iota(length=12B, start=0, step=1, dtype=i64)\n"
    "%y = index(%flat, %i, axes=[0])",
    "arange by steps": "%n = iota(length=B, start=0, step=12, dtype=i64)\n"
    '%q = binary(%one, %n, function="add")\n%y = index(%flat, %q, axes=[0])',
    "multi-hot": BATCH_NUMBERS
    + """%z = fill(shape=[B,3], value=0.0, dtype=f32)
        %o = fill(shape=[2B], value=1.0, dtype=f32)
        %c = reshape(%n, shape=[B,1])
        %e = expand(%c, shape=[B,2])
        %r = reshape(%e, shape=[2B])
        %f = reshape(%two, shape=[2B])
        %y = index_put(%z, %o, %r, %f, axes=[0,1], accumulate=true)""",
    "columns written": """constant %at: i64[2] = [3, 0]
        %v = slice(%x, axis=1, start=1, stop=3)
        %y = index_put(%x, %v, %at, axes=[1], accumulate=false)""",
    "gather and scatter": """%f = reshape(%flat, shape=[B,12])
        %g = gather(%f, %two, axis=1)
        %y = scatter(%x, %two, %g, axis=1, function="add")""",
    "table by ids along its axis": """%r = reshape(%one, shape=[B,1])
        %y = gather(%table, %r, axis=0)""",
    "row doubled": """%d = concat(%x, %x, axis=0)
        %s = softmax(%d, axis=1)
        %y = slice(%s, axis=0, start=0, stop=B)""",
    "repeated rows": """%r = reshape(%x, shape=[B,1,4])
        %e = expand(%r, shape=[B,3,4])
        %a = reshape(%e, shape=[3B,4])
        %b = reshape(%items, shape=[3B,4])
        %y = binary(%a, %b, function="mul")""",
    "constant repeated": """%e = expand(%row, shape=[B,4])
        %y = binary(%x, %e, function="add")""",
    "zeros beside data": """%z = fill(shape=[B,2], value=0.0, dtype=f32)
        %y = concat(%z, %x, axis=1)""",
    "stacked": """%a = reshape(%x, shape=[1,B,4])
        %y = concat(%a, %a, axis=0)""",
    "product per row": """%t = permute(%items, axes=[0,2,1])
        %y = matmul(%items, %t)""",
    "constant times rows": """%t = permute(%x, axes=[1,0])
        %y = matmul(%weight, %t)""",
    "attention in the row": "%y = attention(%items, %items, %items, scale=0.5, causal=true)",
    "batch norm of merged": """%f = reshape(%items, shape=[3B,4])
        %s = unary(%channel, function="square")
        %y = batch_norm(%f, %channel, %s, %channel, %channel, epsilon=0.1)""",
    "layer norm": "%y = layer_norm(%items, axes=2, epsilon=0.001)",
    "sorted in the row": "%v, %i = sort(%x, axis=1, descending=true)\n%y = gather(%x, %i, axis=1)",
    "positions cancelled": BATCH_NUMBERS
    + """%d = binary(%n, %n, function="sub")
        %y = binary(%d, %one, function="add")""",
    "rows of no elements": """%e = slice(%items, axis=1, start=0, stop=0)
        %f = reshape(%e, shape=[B,0])
        %y = reduce(%f, function="sum", axes=[1], keepdim=false)""",
    "input without a batch": '%y = binary(%x, %shared, function="add")',
    "only an input without a batch": '%y = unary(%shared, function="exp")',
    "constant output": '%y = unary(%row, function="exp")',
    "uniform output": "%y = fill(shape=[B,2], value=3.0, dtype=f32)",
    "dead mixing": """%d = reduce(%x, function="sum", axes=[0], keepdim=false)
        %y = softmax(%x, axis=1)""",
    "bags": '%y = embedding_bag(%table, %ids, %offsets, mode="mean", include_last=false)',
    "bags with ends": "%y = embedding_bag(%table, %ids, %ends, "
    'mode="max", include_last=true)',
    "weighted bags": """%w = cast(%ids, dtype=f32)
        %s = unary(%w, function="sin")
        %y = embedding_bag(%table, %ids, %offsets, %s, mode="sum", include_last=false)""",
}  # fmt: skip


def toy(text: str) -> Graph:
    """The graph of a toy; constants have random arrays."""
    lines = [
        f"{kind} %{name}: {type}"
        for kind, table in (("input", INPUTS), ("constant", CONSTANTS))
        for name, type in table.items()
        if re.search(rf"[%~]{name}\b", text)
    ]
    return parse_graph("\n".join([*lines, text, "return %y"]), constants=_random_constant)


def _random_constant(value: Value) -> Array | None:
    if value.name not in CONSTANTS:
        return None
    rng = np.random.default_rng(0)
    return rng.standard_normal(value.type.static_shape).astype(np.float32)
