"""The ways of running a model that a bench compares: swath and its peers.

A peer is built once, from a case, in a process of its own (some of them patch torch), and then
called as its user would call it: with torch tensors, the Python call included. To add one, write a
build function and a line in PEERS.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from swath.report.bench_case import Case

# From the positional arguments of the model to the peer's own outputs.
Call: TypeAlias = Callable[[tuple[Any, ...]], Any]


@dataclass(frozen=True)
class Building:
    """What a peer is built from; `folder` is shared by the peers of one run."""

    case: Case
    threads: int
    folder: Path

    def exported(self) -> ExportedProgram:
        """The case as torch.export gives it, every leading axis dynamic."""
        if self.case.exported is not None:
            return self.case.exported
        export: Any = importlib.import_module("torch.export").export
        arguments = (self.case.model, self.case.example_inputs)
        shapes = self.case.dynamic_shapes()
        try:
            return export(*arguments, dynamic_shapes=shapes, strict=False)
        except Exception:
            # A few models export only when traced as bytecode (NumPy constants made from the
            # batch).
            return export(*arguments, dynamic_shapes=shapes, strict=True)

    def onnx(self) -> Path:
        """The case as an ONNX file, written by the first peer that asks for it."""
        path = self.folder / "model.onnx"
        if not path.exists():
            exporter: Any = importlib.import_module("torch.onnx")
            program = exporter.export(self.exported(), dynamo=True, verbose=False)
            program.save(str(path))
        return path


@dataclass(frozen=True)
class Peer:
    """One way of running a model; `settings` says how it is set up, `package` what it needs."""

    name: str
    title: str
    settings: str
    package: str
    build: Callable[[Building], Call]


def build_swath(building: Building) -> Call:
    """Compiled, saved and loaded again: what runs is the artefact."""
    swath: Any = importlib.import_module("swath")
    case = building.case
    model = case.exported if case.exported is not None else case.model
    path = building.folder / f"swath-{building.threads}.swath"
    program = swath.compile(model, case.example_inputs, dynamic_shapes=case.shapes)
    program.save(path)
    program = swath.load(path, threads=building.threads)
    return lambda inputs: program(*inputs)


def build_eager(building: Building) -> Call:
    """The module itself."""
    model = building.case.model
    return lambda inputs: model(*inputs)


def build_inductor(building: Building) -> Call:
    """torch.compile with its default settings."""
    torch: Any = importlib.import_module("torch")
    model: Any = torch.compile(building.case.model, dynamic=True)
    return lambda inputs: model(*inputs)


def build_inductor_max(building: Building) -> Call:
    """torch.compile that tunes its kernels and folds the weights in."""
    torch: Any = importlib.import_module("torch")
    config: Any = importlib.import_module("torch._inductor.config")
    config.freezing = True
    model: Any = torch.compile(building.case.model, dynamic=True, mode="max-autotune")
    return lambda inputs: model(*inputs)


def build_aot_inductor(building: Building) -> Call:
    """Inductor ahead of time, loaded from its package."""
    inductor: Any = importlib.import_module("torch._inductor")
    path = building.folder / f"aot_inductor-{building.threads}.pt2"
    inductor.aoti_compile_and_package(building.exported(), package_path=str(path))
    model: Any = inductor.aoti_load_package(str(path))
    return lambda inputs: model(*inputs)


def build_onnxruntime(building: Building) -> Call:
    """ONNX Runtime on the exported file, inputs handed over as NumPy views."""
    from swath.report.bench_case import tensors_of

    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = building.threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(building.onnx()), options, providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]

    def call(inputs: tuple[Any, ...]) -> Any:
        arrays = [tensor.numpy() for tensor in tensors_of(inputs)]
        return session.run(None, dict(zip(names, arrays, strict=True)))

    return call


def build_openvino(building: Building) -> Call:
    """OpenVINO on the same file, set for latency and float32, inputs shared and not copied."""
    from swath.report.bench_case import tensors_of

    openvino: Any = importlib.import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": building.threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(str(building.onnx()), "CPU", settings)
    request = compiled.create_infer_request()

    def call(inputs: tuple[Any, ...]) -> Any:
        arrays = [tensor.numpy() for tensor in tensors_of(inputs)]
        result = request.infer(arrays, share_inputs=True)
        return [result[output] for output in compiled.outputs]

    return call


def build_zentorch(building: Building) -> Call:
    """torch.compile with AMD's backend."""
    torch: Any = importlib.import_module("torch")
    importlib.import_module("zentorch")
    model: Any = torch.compile(building.case.model, backend="zentorch", dynamic=True)
    return lambda inputs: model(*inputs)


PEERS: tuple[Peer, ...] = (
    Peer("swath", "swath", "compiled, saved, loaded", "swath", build_swath),
    Peer("eager", "eager", "the module, no_grad", "torch", build_eager),
    Peer("inductor", "torch.compile", "dynamic=True", "torch", build_inductor),
    Peer(
        "inductor_max",
        "torch.compile max",
        "dynamic=True, mode=max-autotune, freezing",
        "torch",
        build_inductor_max,
    ),
    Peer(
        "aot_inductor",
        "AOTInductor",
        "aoti_compile_and_package, loaded",
        "torch",
        build_aot_inductor,
    ),
    Peer(
        "onnxruntime",
        "ONNX Runtime",
        "CPUExecutionProvider, all optimisations",
        "onnxruntime",
        build_onnxruntime,
    ),
    Peer("openvino", "OpenVINO", "LATENCY, f32, shared inputs", "openvino", build_openvino),
    Peer("zentorch", "zentorch", "torch.compile backend, dynamic=True", "zentorch", build_zentorch),
)


def peer_named(name: str) -> Peer:
    """The peer called `name`. Raises KeyError with the known names."""
    for peer in PEERS:
        if peer.name == name:
            return peer
    raise KeyError(f"no peer `{name}`; there are {', '.join(peer.name for peer in PEERS)}")
