"""Where a node of an exported program comes from: module path, file, line, source text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

import torch

from swath.graph.ir import Origin

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*(?:\n(?P<source>[^\n]*))?')
_TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_FORWARD_PARTS = re.compile(r"\['?([^'\]]+)'?\]")


@dataclass(slots=True)
class Origins:
    """Reads origins off nodes; equal stack traces are parsed once."""

    _frames: dict[str, tuple[str, int, str]] = field(default_factory=dict[str, tuple[str, int, str]])

    def of(self, meta: dict[str, Any]) -> Origin:
        """The origin that a node's metadata tells."""
        trace = meta.get("stack_trace") or ""
        frame = self._frames.get(trace)
        if frame is None:
            frame = self._frames[trace] = deepest_model_frame(trace)
        return Origin(_module_path(meta.get("nn_module_stack")), *frame)


def deepest_model_frame(trace: str) -> tuple[str, int, str]:
    """File, line and source of the deepest frame of a stack trace that is not torch's own."""
    best = ("", 0, "")
    for match in _FRAME.finditer(trace):
        frame = (match["file"], int(match["line"]), (match["source"] or "").strip())
        if not is_torch_file(frame[0]) or not best[0]:
            best = frame
    return best


def is_torch_file(file: str) -> bool:
    """True for files of torch itself and for code that has no file."""
    return file.startswith((_TORCH_FOLDER, "<"))


def _module_path(stack: dict[str, tuple[str, Any]] | None) -> str:
    if not stack:
        return "model"
    path = next(reversed(stack.values()))[0]
    return clean_module_path(path)


def clean_module_path(path: str) -> str:
    """`model.tower.0` of the ways in which torch.export writes module paths."""
    path = path.removeprefix("L['self']").removeprefix("L__self__")
    path = _FORWARD_PARTS.sub(r".\1", path).strip(".")
    path = path.removeprefix("_modules.").replace("._modules.", ".")
    path = path.split("@", 1)[0]
    return f"model.{path}" if path else "model"
