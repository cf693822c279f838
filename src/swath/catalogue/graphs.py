"""SW08x and SW90x: graphs and passes."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW080",
        "a pass can't be disabled",
        """
`Options.disabled_passes` leaves passes out, to find the one that a difference comes from. Passes
that the code generation relies on can't be left out. `swath inspect` lists the passes in order.
""",
        'swath.Options(disabled_passes=("dead_code",))',
        'swath.Options(disabled_passes=("pack",))',
    ),
    Entry(
        "SW902",
        "an op's reference and its shape rule disagree",
        """
The interpreter checks the result of every op against the type that the shape rule gave it. A
disagreement is a defect of swath; please report it with the text of the error.
""",
        """
def infer(self, inputs):               # in an op that drops an axis
    return inputs
""",
        """
def infer(self, inputs):
    return (inputs[0].with_shape(inputs[0].shape[1:]),)
""",
    ),
    Entry(
        "SW903",
        "the text of a graph can't be parsed",
        """
The text form of a graph has one statement a line; docs/architecture.md and swath/graph/text.py
describe it. The error points at the place.
""",
        """
input %x: f32[1,4] @candidate
%y = unary(%x, function=exp)
return %y
""",
        """
input %x: f32[1,4] @candidate
%y = unary(%x, function="exp")
return %y
""",
    ),
    Entry(
        "SW904",
        "rules of a pass rewrite a node without an end",
        """
Each rule of a pass must make a node smaller or more canonical; two that undo one another go on for
ever. This is a defect of the pass; `Options.disabled_passes` goes around it.
""",
        """
def to_slice(rewriter, op, inputs):    # and another rule makes takes of slices
    return (Slice(op.axis, 0, 1), inputs) if isinstance(op, Take) else None
""",
        "one of the two rules goes, or matches less",
    ),
    Entry(
        "SW905",
        "a rule of a pass changes the type of a value",
        """
A rule may replace a value by one of the same element type and shape only: others read it. This is a
defect of the pass; `Options.disabled_passes` goes around it.
""",
        """
def drop_reshape(rewriter, op, inputs):
    return inputs[0] if isinstance(op, Reshape) else None
""",
        """
def drop_reshape(rewriter, op, inputs):
    same = isinstance(op, Reshape) and op.shape == inputs[0].type.shape
    return inputs[0] if same else None
""",
    ),
    Entry(
        "SW906",
        "a pass made a graph that is not well formed",
        """
The verifier checks graphs between the steps of the compiler: order, names, types, row spaces,
constants. A violation is a defect of the pass that the message names; `Options.disabled_passes`
goes around it if the pass is optional.
""",
        """
nodes = (*graph.nodes, node)           # behind the nodes that read it
""",
        """
nodes = (node, *graph.nodes)
""",
    ),
)
