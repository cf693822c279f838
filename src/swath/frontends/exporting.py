"""Runs torch.export so that the batch stays free."""

from __future__ import annotations

import logging
import os
import traceback
import warnings
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.fx.experimental import proxy_tensor

from swath.errors import UnsupportedModel
from swath.frontends.adapters import DataAsDetach
from swath.frontends.examples import Example
from swath.frontends.origins import is_library_file, submodules
from swath.frontends.refusals import first_line
from swath.frontends.unsupported import Unsupported


class ExportFailure(Exception):
    """torch.export failed in both modes; holds what each said."""

    def __init__(self, non_strict: Exception, strict: Exception) -> None:
        super().__init__(str(non_strict))
        self.non_strict, self.strict = non_strict, strict


def export(
    model: nn.Module,
    example: Example,
    dynamic_shapes: Any,
    mode: AbstractContextManager[Any] | None = None,
) -> ExportedProgram:
    """The program of a model, un-decomposed. Non-strict tracing (within `mode`) is tried first: it
    keeps the values of constants that strict tracing makes fakes of. Raises ExportFailure."""
    with quiet(), unchanged(model):
        try:
            with DataAsDetach(), mode or nullcontext():
                return _traced(model, example, dynamic_shapes, strict=False)
        except Exception as failure:  # torch.export raises whatever the model or a fake kernel does
            non_strict = failure
        try:
            return _traced(model, example, dynamic_shapes, strict=True)
        except Exception as failure:
            raise ExportFailure(non_strict, failure) from failure


def _traced(
    model: nn.Module, example: Example, dynamic_shapes: Any, strict: bool
) -> ExportedProgram:
    program = torch.export.export(
        model, example.args, example.kwargs, dynamic_shapes=dynamic_shapes, strict=strict
    )
    fakes = fake_constants(program)
    if fakes:
        raise RuntimeError(f"tracing lost the values of constants: {', '.join(fakes)}")
    return program


def fake_constants(program: ExportedProgram) -> list[str]:
    """Names of constants that hold no values."""
    stored: Mapping[str, Any] = {**program.constants, **program.state_dict}
    return [name for name, value in stored.items() if isinstance(value, FakeTensor)]


@contextmanager
def quiet() -> Generator[None]:
    """Tracing without PyTorch's fused transformer kernels, its warnings and its logging; what a
    failure means is told by us."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    disabled = logging.root.manager.disable
    torch.backends.mha.set_fastpath_enabled(False)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), deep_frames(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        torch.backends.mha.set_fastpath_enabled(fast_path)


@contextmanager
def unchanged(model: nn.Module) -> Generator[None]:
    """Take back what tracing leaves in attributes of modules: a forward that keeps its attention
    scores in `self` would keep fake ones, which can't be copied or saved."""
    before = [(module, dict(module.__dict__)) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes in before:
            module.__dict__.clear()
            module.__dict__.update(attributes)


@contextmanager
def deep_frames() -> Generator[None]:
    """Let torch record the deepest frame of the model with each node, not only those of `forward`
    methods: helper functions are where the line at fault often is."""
    tracer = proxy_tensor.PythonKeyTracer
    name = "_filter_traceback_frames"
    before = tracer.__dict__.get(name)
    setattr(tracer, name, _model_frames)
    try:
        yield
    finally:
        if before is None:
            delattr(tracer, name)
        else:
            setattr(tracer, name, before)


def _model_frames(_: Any, summary: traceback.StackSummary) -> traceback.StackSummary:
    for frame in reversed(summary):
        if not is_library_file(frame.filename):
            return traceback.StackSummary.from_list([frame])
    return traceback.StackSummary.from_list([])


def load(path: str | os.PathLike[str]) -> ExportedProgram:
    """A program saved by torch.export.save. Raises Unsupported if it can't be read."""
    if not Path(path).is_file():
        raise Unsupported(
            "SW022",
            f"there is no file {os.fspath(path)!r}",
            "a saved program is a .pt2 file",
            "check the path",
        )
    try:
        with quiet():
            return torch.export.load(path)
    except Exception as error:
        raise Unsupported(
            "SW022",
            f"{os.fspath(path)!r} can't be read as an exported program",
            first_line(error),
            "write the file with torch.export.save and the same version of torch",
        ) from error


def check_kind(model: object) -> None:
    """Raises Unsupported if this isn't a module that torch.export traces."""
    script = isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction)
    if isinstance(model, nn.Module) and not script:
        return
    raise Unsupported(
        "SW024",
        f"the model is of type {type(model).__name__}",
        "TorchScript is not read; it has lost how the model was written"
        if script
        else "a model is an nn.Module, an ExportedProgram, or the path of a saved one",
        "give the nn.Module that it was made from"
        if script
        else "put the computation into the forward of an nn.Module",
    )


def check_eval_mode(model: nn.Module) -> None:
    """Raises UnsupportedModel if a submodule is in training mode."""
    training = [name or "the model itself" for name, module in submodules(model) if module.training]
    if not training:
        return
    shown = ", ".join(training[:5]) + (
        f" and {len(training) - 5} more" if len(training) > 5 else ""
    )
    raise UnsupportedModel(
        [
            Unsupported(
                "SW001",
                f"the model is in training mode: {shown}",
                "dropout and batch normalisation compute something else in training mode",
                "call model.eval() before compiling",
            ).at_model()
        ]
    )
