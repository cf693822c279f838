"""Runs a model eagerly on its example and notes what a compiled program can't do.

torch.export stops at the first construct that it can't trace; an eager run doesn't. What it finds
are reads of tensor data by Python (branches, numbers, NumPy), packed sequences and operations
without a rule. The values that Python read are kept, so that tracing can go on with them
(`Replay`): the program isn't right then, but shows the problems that come after.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from swath.errors import Problem
from swath.frontends.examples import Example
from swath.frontends.liveness import is_in_place, op_key
from swath.frontends.mixing import refusal_of_rows
from swath.frontends.origins import failure_origin, is_library_file, module_names, running_origin
from swath.frontends.refusals import (
    branch_on_data,
    forward_fails,
    host_number,
    missing_rule,
    numpy_in_forward,
    packed_sequence,
    refused_by_name,
)
from swath.frontends.rules import RULES
from swath.frontends.rules.inplace import pure_name
from swath.frontends.unsupported import Unsupported

_BRANCHES = ("__bool__", "is_nonzero")
_NUMBERS = ("item", "tolist", "__int__", "__float__", "__index__")
_ARRAYS = ("numpy", "__array__")
_HOST_READS = (*_BRANCHES, *_NUMBERS, *_ARRAYS)
# Files of torch in which such reads are only passed on.
_PASSING = (
    "overrides.py", "_tensor.py", "_jit_internal.py", "non_strict_utils.py", "proxy_tensor.py",
    "_compile.py", "eval_frame.py", "contextlib.py",
)  # fmt: skip
# What eager execution calls for operations that have rules of their own.
_INTERNALS = (
    "aten._scaled_dot_product", "aten.mkldnn", "aten._native", "aten.native_", "aten._local_scalar",
    "aten._assert", "aten._thnn", "aten._fused", "aten._trilinear", "aten.set_", "aten.as_strided",
    "aten._cudnn", "aten.convolution", "aten._unique", "aten._pack", "aten._pad", "aten._to_cpu",
    "aten._embedding_bag", "aten.equal", "aten.is_same_size", "aten._cdist_forward",
    "aten.split_with_sizes", "aten._reshape_copy", "aten._mkldnn", "aten.sym_", "prim.", "prims.",
    "aten.detach", "aten._nested", "aten.lift",
)  # fmt: skip


# An attribute of tensors that depend on an input.
_MARK = "_swath_depends_on_input"


@dataclass(slots=True)
class Scan:
    """What an eager run found: refusals with their places, and what Python read of tensors.

    `reads_of_inputs` counts the reads whose value depends on an input; any other is the same in
    every call. `packed_lines` are the places at which packed sequences are used.
    """

    problems: list[Problem] = field(default_factory=list[Problem])
    reads: list[Any] = field(default_factory=list[Any])
    reads_of_inputs: int = 0
    packed_lines: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    @property
    def fails(self) -> bool:
        """True if the model itself has raised."""
        return bool(self.problems) and self.problems[0].id == "SW018"

    def without_echoes(self, traced: bool) -> list[Problem]:
        """The problems but for those that only follow from a packed sequence, and for those that a
        traced program tells better."""
        packed = [problem for problem in self.problems if problem.id == "SW008"]
        return [
            problem
            for problem in self.problems
            if problem in packed[:1]
            or (
                (problem.where.file or "", problem.where.line or 0) not in self.packed_lines
                and not (traced and problem.id == "SW004")
            )
        ]

    def note(self, refusal: Unsupported, modules: Mapping[int, str]) -> None:
        """Add a problem at the running line of the model, once for a line."""
        problem = refusal.at(running_origin(modules))
        place = (problem.id, problem.where.file, problem.where.line)
        if all((p.id, p.where.file, p.where.line) != place for p in self.problems):
            self.problems.append(problem)


def scan(model: nn.Module, example: Example) -> Scan:
    """Run the model under watch. A model that fails has that as its only problem."""
    found = Scan()
    modules = module_names(model)
    hooks = [
        module.register_forward_pre_hook(_recurrence_hook(found, modules))
        for module in model.modules()
        if isinstance(module, nn.RNNBase | nn.RNNCellBase)
    ]
    try:
        args, kwargs = pytree.tree_map(_copied, (example.args, example.kwargs))
        watch = _Reads(found, modules), _Operations(found, modules)
        with _kept_buffers(model), torch.no_grad(), watch[0], watch[1]:
            model(*args, **kwargs)
    except Exception as error:  # the model may raise anything
        return Scan([forward_fails(error).at(failure_origin(error, modules))])
    finally:
        for hook in hooks:
            hook.remove()
    return found


def constant_reads(model: nn.Module, example: Example) -> list[Any]:
    """What Python reads of tensors, in order, if none of it depends on an input."""
    found = scan(model, example)
    return [] if found.fails or found.reads_of_inputs else found.reads


def _copied(leaf: Any) -> Any:
    """A marked copy of a tensor, since the model may write to it."""
    return _mark(leaf.clone()) if isinstance(leaf, torch.Tensor) else leaf


def _mark(result: Any) -> Any:
    """Note on tensors that they depend on an input."""
    for leaf in pytree.tree_leaves(result):
        if isinstance(leaf, torch.Tensor):
            setattr(leaf, _MARK, True)
    return result


def _depends(arguments: Any) -> bool:
    """True if a tensor among the arguments depends on an input."""
    return any(getattr(leaf, _MARK, False) for leaf in pytree.tree_leaves(arguments))


@contextmanager
def _kept_buffers(model: nn.Module) -> Generator[None]:
    """Buffers get their values back: watching a model must not change it."""
    buffers: list[Any] = list(model.buffers())
    values = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in zip(buffers, values, strict=True):
                buffer.copy_(value)


def _recurrence_hook(found: Scan, modules: Mapping[int, str]) -> Callable[..., None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], nn.utils.rnn.PackedSequence):
            origin = running_origin(modules)
            found.packed_lines.add((origin.file, origin.line))
        del module

    return hook


class _Reads(TorchFunctionMode):
    """Notes where Python reads the data of tensors."""

    def __init__(self, found: Scan, modules: Mapping[int, str]) -> None:
        super().__init__()
        self.found, self.modules = found, modules

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        name = getattr(func, "__name__", "")
        result = func(*args, **(kwargs or {}))
        if name in _HOST_READS and _read_by_model(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            self.found.reads.append(result)
            if _depends(args):
                self.found.reads_of_inputs += 1
                self.found.note(_refusal_of_read(name), self.modules)
        return result


def _refusal_of_read(name: str) -> Unsupported:
    if name in _BRANCHES:
        return branch_on_data()
    return host_number(name) if name in _NUMBERS else numpy_in_forward()


def _read_by_model(frame: FrameType | None) -> bool:
    """True if the read is made by model code and not within torch."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library_file(file):
            return True
        if not file.endswith(_PASSING) and "numpy" not in file:
            return False
        frame = frame.f_back
    return False


class _Operations(TorchDispatchMode):
    """Notes operations that have no rule."""

    def __init__(self, found: Scan, modules: Mapping[int, str]) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.found, self.modules = found, modules

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        key = op_key(func)
        rows = refusal_of_rows(func, args, kwargs or {})
        for refusal in (self._refusal(key, args), rows):
            if refusal is not None:
                self.found.note(refusal, self.modules)
        result = func(*args, **(kwargs or {}))
        if _depends((args, kwargs)):
            _mark(result)
        return result

    def _refusal(self, key: str, args: Any) -> Unsupported | None:
        if "_pack_padded_sequence" in key or "_pad_packed_sequence" in key:
            origin = running_origin(self.modules)
            self.found.packed_lines.add((origin.file, origin.line))
            return packed_sequence()
        if key in RULES or (is_in_place(key) and pure_name(key) in RULES):
            return None
        named = refused_by_name(key)
        if named is not None:
            return None if named.id == "SW006" else named
        del args
        return None if key.startswith(_INTERNALS) else missing_rule(key)


class Replay(TorchFunctionMode):
    """Answers Python's reads of tensor data with what the eager run read, in the same order."""

    def __init__(self, reads: list[Any]) -> None:
        super().__init__()
        self._reads = iter(reads)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        name = getattr(func, "__name__", "")
        if name in _HOST_READS and _read_by_model(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            try:
                return next(self._reads)
            except StopIteration:
                pass
        return func(*args, **(kwargs or {}))
