"""Models as commands name them.

    package.module:factory    file.py:factory    program.pt2

A factory takes no arguments and returns `(model, example_inputs)`. Behind these it may return the
dynamic shapes of torch.export, and a function `make_inputs(batch, seed)` that draws inputs.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from swath.errors import EnvironmentProblem, Problem, SwathError, Where

_NAMING = "name it `package.module:factory`, `file.py:factory` or `program.pt2`"


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model and what is known of its inputs.

    `model` is an nn.Module in eval mode or an ExportedProgram; `example_inputs`, `dynamic_shapes`
    are what `swath.compile` takes; `make_inputs(batch, seed)` draws arguments of other calls.
    """

    name: str
    model: Any
    example_inputs: Any
    dynamic_shapes: Any = None
    make_inputs: Callable[[int, int], Any] | None = None


def require_torch() -> None:
    """Raises EnvironmentProblem SW303 where PyTorch isn't installed."""
    if find_spec("torch") is None:
        raise EnvironmentProblem(
            Problem(
                "SW303",
                "PyTorch isn't installed",
                "models are PyTorch programs; only artefacts run without it",
                "pip install 'swath[torch]'",
            )
        )


def load_model(specification: str) -> NamedModel:
    """The model of that name. Raises SwathError SW401 to SW406, EnvironmentProblem SW303."""
    require_torch()
    if specification.endswith(".pt2"):
        return _load_exported(Path(specification))
    place, colon, name = specification.rpartition(":")
    if not colon or not place or not name:
        why = "it has no `:factory`"
        raise _problem("SW401", f"`{specification}` names no model", why, _NAMING)
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    factory = _attribute(module, name, specification)
    return _named(_called(factory, specification), specification)


def _problem(id: str, what: str, why: str, fix: str, where: Where | None = None) -> SwathError:
    return SwathError(Problem(id, what, why, fix, where or Where()))


def _load_module(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if "" not in sys.path and folder not in sys.path:
        sys.path.insert(0, folder)
    return _imported(lambda: importlib.import_module(name), name)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise _problem(
            "SW402", f"there is no file {path}", "a model is looked up in it", "check the path"
        )
    name = f"swath_model_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Registered before it runs: dataclasses and torch.export look modules up by name.
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    loader = specification.loader

    def execute() -> ModuleType:
        loader.exec_module(module)
        return module

    return _imported(execute, str(path))


def _imported(load: Callable[[], ModuleType], name: str) -> ModuleType:
    try:
        return load()
    except Exception as error:
        raise _problem(
            "SW402",
            f"`{name}` can't be imported",
            _last_words(error),
            "call swath from the folder, and with the Python, in which this import works",
            _place(error),
        ) from error


def _attribute(module: ModuleType, name: str, specification: str) -> Any:
    found: Any = module
    for part in name.split("."):
        known: list[str]
        if isinstance(found, Mapping):
            entries = cast("Mapping[str, Any]", found)
            if part in entries:
                found = entries[part]
                continue
            known = list(map(str, entries))
        elif hasattr(found, part):
            found = getattr(found, part)
            continue
        else:
            known = [
                key
                for key, value in vars(module).items()
                if callable(value) and getattr(value, "__module__", "") == module.__name__
            ]
        raise _problem(
            "SW403",
            f"`{specification}`: there is no `{part}`",
            f"there are {_listed(known)}" if known else "nothing there can be called",
            "name one of these" if known else _NAMING,
        )
    return found


def _listed(names: list[str], most: int = 40) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _called(factory: Any, specification: str) -> Any:
    if not callable(factory):
        raise _returned(specification, "it is a " + type(factory).__name__ + ", not a function")
    try:
        return factory()
    except SwathError:
        raise
    except Exception as error:
        raise _problem(
            "SW404",
            f"the factory `{specification}` failed",
            _last_words(error),
            "a factory is called without arguments; make it run by itself first",
            _place(error),
        ) from error


def _named(made: Any, specification: str) -> NamedModel:
    from torch import nn
    from torch.export import ExportedProgram

    parts: list[Any] = list(cast("tuple[Any, ...]", made)) if isinstance(made, tuple) else []
    if not 2 <= len(parts) <= 4:
        kind = type(cast("object", made)).__name__
        count = f" of {len(parts)}" if parts else ""
        raise _returned(specification, f"it returned a {kind}{count}")
    model, example_inputs, *rest = parts
    if not isinstance(model, nn.Module | ExportedProgram):
        raise _returned(specification, f"its first value is a {type(model).__name__}")
    if isinstance(model, nn.Module):
        model = model.eval()
    drawing = [value for value in rest if callable(value)]
    shapes = [value for value in rest if not callable(value)]
    return NamedModel(
        type(model).__name__,
        model,
        example_inputs,
        shapes[0] if shapes else None,
        drawing[0] if drawing else None,
    )


def _returned(specification: str, why: str) -> SwathError:
    return _problem(
        "SW405",
        f"`{specification}` makes no model",
        why,
        "return (model, example_inputs): an nn.Module, and the arguments of a call as a tuple",
    )


def _load_exported(path: Path) -> NamedModel:
    from swath.frontends import exporting
    from swath.frontends.unsupported import Unsupported

    if not path.is_file():
        raise _problem(
            "SW402", f"there is no file {path}", "a saved program is a .pt2 file", "check the path"
        )
    try:
        program = exporting.load(path)
    except Unsupported as error:
        raise SwathError(error.at_model()) from error
    if program.example_inputs is None:
        raise _problem(
            "SW406",
            f"{path} holds no example inputs",
            "the rows to run are made from them",
            "export the model again with the inputs that it is called with",
        )
    return NamedModel(path.stem, program, program.example_inputs)


def _last_words(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:400]}" if said else type(error).__name__


def _place(error: BaseException) -> Where:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and __file__ != frame.filename
    ]
    if not frames:
        return Where()
    return Where(file=frames[-1].filename, line=frames[-1].lineno, source=frames[-1].line)
