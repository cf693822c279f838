"""SW9xx: a defect of swath."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW900",
        "a command failed in a way that nobody foresaw",
        """
The traceback above the message says where. It is a defect of swath, unless the model itself raised
the exception; please report it with the traceback.
""",
        "(this can't be caused from outside)",
        "report it with the traceback, and the model if you can",
    ),
    Entry(
        "SW920",
        "the shape rule and the row rule of an op disagree",
        """
Debatching checks each type against what the row rule of its op claims. A disagreement is a defect
of swath and says nothing about the model; please report it with the text of the error.
""",
        """
def row(self, types, rows):            # in an op that moves axes
    return rows
""",
        """
def row(self, types, rows):
    return (moved_row(rows[0], self.axes.index(rows[0].axis)),)
""",
    ),
    Entry(
        "SW921",
        "an import rule gives another type than torch states",
        """
Import compares the type of every value with the one that torch states for it. A difference is a
defect of swath; please report it with the line of the model that the error names.
""",
        """
def mean(context, x, dim, keepdim=False):       # forgets that integers have no mean
    return context.reduce("mean", x, all_axes(x, dim), keepdim)
""",
        """
def mean(context, x, dim, keepdim=False):
    x = context.cast(x, context.result.dtype)
    return context.reduce("mean", x, all_axes(x, dim), keepdim)
""",
    ),
    Entry(
        "SW910",
        "the compiled code failed without saying why",
        """
Compiled code reports each failure with a row and a value. One that doesn't is a defect of swath;
the artefact and the inputs reproduce it.
""",
        "(this can't be caused from outside)",
        "report it with the artefact and the inputs",
    ),
    Entry(
        "SW930",
        "an op reached code generation that has no lowering",
        "Composite ops are rewritten by passes into simpler ones; this one was not. The defect is "
        "in swath, not in the model.",
        "a new op without a lowering and without a pass that rewrites it",
        "add the op to LOWERINGS in stages/lowering.py, or write the pass",
    ),
)
