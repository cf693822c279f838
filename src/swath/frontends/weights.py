"""Parameters, buffers and lifted tensors of an exported program as constants of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from swath.frontends.context import Context
from swath.frontends.promotion import HALF_TYPES, graph_dtype
from swath.frontends.unsupported import Unsupported
from swath.graph.ir import Array, Value
from swath.graph.types import TensorType

_STORED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def array_of(tensor: torch.Tensor) -> Array:
    """The elements as an array: float32 and wider share the tensor's memory, halves are widened."""
    tensor = tensor.detach()
    if tensor.dtype in HALF_TYPES:
        tensor = tensor.float()
    array = tensor.cpu().numpy()
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


class Weights:
    """Makes a constant of each stored tensor; parameters that share memory become one."""

    def __init__(self, program: ExportedProgram, context: Context) -> None:
        self._program = program
        self._context = context
        self._made: dict[Any, Value] = {}

    def constant(self, spec: InputSpec) -> Value:
        """The constant for an input of the program that is no user input. Raises Unsupported."""
        tensor = self.stored(spec)
        if tensor is None or spec.kind not in _STORED:
            raise Unsupported(
                "SW021",
                f"`{spec.target}` is not a tensor",
                "a model may hold parameters, buffers and constant tensors",
                "replace it by a tensor buffer, or move the step that uses it out of the model",
            )
        return self.tensor(spec.target or "constant", tensor)

    def stored(self, spec: InputSpec) -> torch.Tensor | None:
        """The tensor that an input of the program stands for."""
        name = spec.target or ""
        value = self._program.state_dict.get(name)
        if value is None:
            value = self._program.constants.get(name)
        return value if isinstance(value, torch.Tensor) else None

    def tensor(self, name: str, tensor: torch.Tensor) -> Value:
        """The constant for a tensor."""
        _check_layout(name, tensor)
        dtype = graph_dtype(tensor.dtype)
        key = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())
        if tensor.numel() and key in self._made:
            return self._made[key]
        array = array_of(tensor)
        value = self._context.builder.constant(name, array, TensorType(dtype, array.shape))
        self._made[key] = value
        return value


def _check_layout(name: str, tensor: torch.Tensor) -> None:
    if tensor.layout is torch.strided and not tensor.is_quantized and tensor.device.type != "meta":
        return
    raise Unsupported(
        "SW014",
        f"`{name}` is a {'meta' if tensor.device.type == 'meta' else str(tensor.layout)} tensor",
        "weights are dense tensors with values",
        "call .to_dense(), or load the weights before compiling",
    )
