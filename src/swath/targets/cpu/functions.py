"""Kernels as C++ functions: parameters are pointers to the first element of each view, so that
kernels of one structure are one function, called with different pointers."""

from __future__ import annotations

from dataclasses import dataclass, field

from swath.graph.types import DType
from swath.targets.cpu.text import C_TYPES
from swath.tile.views import View


@dataclass(frozen=True, slots=True)
class Operand:
    """A view as a parameter: `name` points to its first element in the swath's first row."""

    name: str
    view: View
    written: bool = False

    @property
    def declaration(self) -> str:
        """The parameter, with the distance between rows where only the call knows it."""
        dtype = self.view.buffer.dtype
        memory = "unsigned char" if dtype is DType.BOOL else C_TYPES[dtype]
        text = f"{'' if self.written else 'const '}{memory}* __restrict {self.name}"
        return f"{text}, long {self.row_parameter}" if self.dynamic_rows else text

    @property
    def dynamic_rows(self) -> bool:
        """True for inputs with a batch axis."""
        return self.view.buffer.row_elements < 0

    @property
    def row_parameter(self) -> str:
        """The name of the distance between rows."""
        return f"{self.name}_row"


@dataclass(frozen=True, slots=True)
class Function:
    """A C++ function without a name yet, and the views to call it with.

    `faults` says that it takes the call and the first row, to record faults; `tables` is static
    data in front of it; `extra` is one more parameter, which the caller knows about.
    """

    kind: str
    operands: tuple[Operand, ...]
    body: str
    comment: str
    faults: bool = False
    statics: str = ""
    extra: str = ""

    def parameters(self) -> str:
        """The parameter list."""
        lead = ["const swath_call* call", "long first_row"] if self.faults else []
        last = [self.extra] if self.extra else []
        return ", ".join([*lead, "long rows", *(o.declaration for o in self.operands), *last])


@dataclass(slots=True)
class Operands:
    """Names the views of one kernel: the destination is `c`, the others `a0`, `a1`, ..."""

    items: list[Operand] = field(default_factory=list[Operand])

    def write(self, view: View, name: str = "c") -> Operand:
        """A view that is written."""
        operand = Operand(name, view, written=True)
        self.items.append(operand)
        return operand

    def read(self, view: View) -> Operand:
        """A view that is read; the same view is one parameter."""
        for operand in self.items:
            if operand.view == view and not operand.written:
                return operand
        operand = Operand(f"a{sum(not o.written for o in self.items)}", view)
        self.items.append(operand)
        return operand

    def find(self, view: View) -> Operand:
        """The operand of a view that is read."""
        return next(o for o in self.items if o.view == view and not o.written)


def loop(variable: str, bound: str) -> str:
    """The head of a loop from 0."""
    return f"for (long {variable} = 0; {variable} < {bound}; ++{variable}) {{"
