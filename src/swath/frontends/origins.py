"""Where a node of an exported program comes from: module path, file, line, source text."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy
import torch
from torch import nn

import swath
from swath.graph.ir import Origin

_FRAME = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*(?:\n(?P<source>[^\n]*))?'
)
_LIBRARY_FOLDERS = (
    "<",
    *(os.path.dirname(library.__file__ or "") + os.sep for library in (torch, numpy, swath)),
)
_PYTHON_FOLDER = os.path.dirname(os.__file__) + os.sep
_FORWARD_PARTS = re.compile(r"\['?([^'\]]+)'?\]")


@dataclass(slots=True)
class Origins:
    """Reads origins off nodes; equal stack traces are parsed once."""

    _frames: dict[str, tuple[str, int, str]] = field(
        default_factory=dict[str, tuple[str, int, str]]
    )

    def of(self, meta: dict[str, Any]) -> Origin:
        """The origin that a node's metadata tells."""
        trace = meta.get("stack_trace") or ""
        frame = self._frames.get(trace)
        if frame is None:
            frame = self._frames[trace] = deepest_model_frame(trace)
        return Origin(_module_path(meta.get("nn_module_stack")), *frame)


def deepest_model_frame(trace: str) -> tuple[str, int, str]:
    """File, line and source of the deepest frame of a stack trace that is the model's own."""
    best = ("", 0, "")
    for match in _FRAME.finditer(trace):
        frame = (match["file"], int(match["line"]), (match["source"] or "").strip())
        if not is_library_file(frame[0]) or not best[0]:
            best = frame
    return best


def is_library_file(file: str) -> bool:
    """True for files of torch, NumPy, Python and swath itself, and for code that has no file."""
    if file.startswith(_LIBRARY_FOLDERS):
        return True
    inside = file.startswith(_PYTHON_FOLDER)
    return inside and "site-packages" not in file and "dist-packages" not in file


def running_origin(modules: Mapping[int, str]) -> Origin:
    """The deepest frame of the model on the running stack; `modules` names modules by id."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame_origin(frame, modules) if frame is not None else Origin()


def failure_origin(error: BaseException, modules: Mapping[int, str]) -> Origin:
    """The deepest frame of the model in the traceback of an exception."""
    found: FrameType | None = None
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if not is_library_file(trace.tb_frame.f_code.co_filename):
            found, line = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    if found is None or not _is_below_model(found, modules):
        return Origin()
    return frame_origin(found, modules, line)


def _is_below_model(frame: FrameType, modules: Mapping[int, str]) -> bool:
    """True if a method of the model is on the stack of the frame: else it is the caller's code."""
    current: FrameType | None = frame
    while current is not None:
        if id(current.f_locals.get("self")) in modules:
            return True
        current = current.f_back
    return False


def frame_origin(frame: FrameType, modules: Mapping[int, str], line: int = 0) -> Origin:
    """File, line, source and module of a frame."""
    line = line or frame.f_lineno
    file = frame.f_code.co_filename
    current: FrameType | None = frame
    module = ""
    while current is not None and not module:
        module = modules.get(id(current.f_locals.get("self")), "")
        current = current.f_back
    return Origin(module, file, line, linecache.getline(file, line).strip())


def submodules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """All submodules by path, the model itself first."""
    # Annotated only in part by torch.
    named: Any = model.named_modules  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return list(named())


def module_names(model: nn.Module) -> dict[int, str]:
    """The paths of all submodules by id: `model`, `model.tower.0`."""
    return {id(module): f"model.{name}" if name else "model" for name, module in submodules(model)}


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
