"""Compiles PyTorch ranking models into self-contained artefacts that run fast without PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from swath.version import VERSION

if TYPE_CHECKING:
    from swath.compiler import compile
    from swath.options import Input, Options
    from swath.runtime import Program, load

__all__ = ["compile", "load", "Program", "Input", "Options", "__version__"]

__version__ = VERSION


def __getattr__(name: str) -> object:
    """Import a public name at its first use, so that `import swath` stays cheap."""
    homes = {
        "compile": "swath.compiler",
        "Input": "swath.options",
        "Options": "swath.options",
        "Program": "swath.runtime",
        "load": "swath.runtime",
    }
    if name not in homes:
        raise AttributeError(f"module 'swath' has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
