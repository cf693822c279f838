"""Columns of text, and numbers that a person can read."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Rows padded to one width a column; the columns in `left` to the left, the others to the
    right."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def size_text(size: float) -> str:
    """Bytes: `512 B`, `12.1 KB`, `3.4 MB` (units of 1024)."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes any size")


def count_text(count: float) -> str:
    """A count: `950`, `12.1 k`, `3.4 M` (units of 1000)."""
    for unit in ("", "k", "M", "G"):
        if count < 1000 or unit == "G":
            return f"{count:.0f}" if not unit else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("the last unit takes any count")


def seconds_text(seconds: float) -> str:
    """A time: `3.4 us`, `12.1 ms`, `1.25 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def shortened(text: str, width: int) -> str:
    """At most `width` characters of the text, the end being the part that matters more."""
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]
