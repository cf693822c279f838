"""C++ text: a writer of indented lines, names and literals of types."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from swath.graph.types import DType

C_TYPES = {
    DType.FLOAT64: "double",
    DType.FLOAT32: "float",
    DType.INT64: "long",
    DType.INT32: "int",
    DType.INT16: "short",
    DType.INT8: "signed char",
    DType.UINT8: "unsigned char",
    DType.BOOL: "bool",
}


@dataclass(slots=True)
class Lines:
    """Lines of code at a depth."""

    lines: list[str] = field(default_factory=list[str])
    depth: int = 0

    def add(self, line: str) -> None:
        """One line."""
        self.lines.append("  " * self.depth + line if line else "")

    @contextmanager
    def block(self, head: str, end: str = "}") -> Generator[None]:
        """A head that ends in a brace, the body, the end."""
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.add(end)

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def literal(value: float, dtype: DType) -> str:
    """A number as a C++ literal of its type."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        if int(value) == -(1 << 63):
            return "static_cast<long>(1UL << 63)"
        number = f"{int(value)}L"
        return number if dtype is DType.INT64 else f"static_cast<{C_TYPES[dtype]}>({number})"
    suffix = "f" if dtype is DType.FLOAT32 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    return f"{value!r}{suffix}" if dtype is DType.FLOAT64 else f"{_float32(value)}{suffix}"


def _float32(value: float) -> str:
    import numpy as np

    text = repr(float(np.float32(value)))
    return text if any(c in text for c in ".e") else text + ".0"


def linear(terms: list[tuple[str, int]], constant: int = 0) -> str:
    """A sum of variables times strides, as an index."""
    parts = [
        variable if stride == 1 else f"{variable} * {stride}"
        for variable, stride in terms
        if stride != 0 and variable != "0"
    ]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)
