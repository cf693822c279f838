"""How a rule refuses: a reason and a remedy, without the place, which the importer adds."""

from __future__ import annotations

from swath.errors import Problem, Where
from swath.graph.ir import Origin


class Unsupported(Exception):
    """A node can't be imported; the importer makes a `Problem` of it and goes on."""

    def __init__(self, id: str, what: str, why: str, fix: str) -> None:
        super().__init__(what)
        self.id, self.what, self.why, self.fix = id, what, why, fix

    def at(self, origin: Origin) -> Problem:
        """The problem at its place in the model."""
        return Problem(self.id, self.what, self.why, self.fix, where(origin))

    def at_model(self) -> Problem:
        """The problem of the model as a whole."""
        return Problem(self.id, self.what, self.why, self.fix)


def where(origin: Origin) -> Where:
    """The place of an origin."""
    return Where(
        module=origin.module or None,
        file=origin.file or None,
        line=origin.line or None,
        source=origin.source or None,
    )


def unsupported_form(op: str, detail: str) -> Unsupported:
    """An op is known, but not with these arguments."""
    return Unsupported(
        "SW020",
        f"`{op}` is not supported with {detail}",
        "only the forms that ranking models use are compiled",
        "write this step with other operations, or move it out of the model",
    )


def mixes_rows(op: str, detail: str) -> Unsupported:
    """An op moves elements from one row of the batch to another."""
    return Unsupported(
        "SW023",
        f"`{op}` {detail}",
        "rows of a batch must not depend on one another or on their number",
        "work on the other axes; do what concerns the whole batch outside of the model",
    )
