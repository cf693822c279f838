"""Weights of the size that training gives.

A fresh ranking model has embeddings of standard deviation 1e-4 and batch norms that do nothing:
every score would be the same, and a compiler that got the numbers wrong would pass.
"""

from typing import cast

import torch
from torch import Tensor, nn

EMBEDDING_STD = 0.1
BIAS_STD = 0.05
LARGEST_BARE_PARAMETER = 1_000_000


def scale_as_trained(model: nn.Module, seed: int = 0) -> nn.Module:
    """Draws weights and batch-norm statistics anew, in place; returns the model in eval mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            _scale_module(module, generator)
    return model.eval()


def _scale_module(module: nn.Module, generator: torch.Generator) -> None:
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        module.weight.normal_(0, EMBEDDING_STD, generator=generator)
        if module.padding_idx is not None:
            module.weight[module.padding_idx].zero_()
    elif isinstance(module, nn.Linear):
        module.weight.normal_(0, module.in_features**-0.5, generator=generator)
        _scale_bias(module, generator)
    elif isinstance(module, nn.BatchNorm1d):
        _scale_batch_norm(module, generator)
    else:
        for parameter in module.parameters(recurse=False):
            _scale_bare(parameter, generator)


def _scale_bias(module: nn.Linear, generator: torch.Generator) -> None:
    bias = cast(Tensor | None, module.bias)
    if bias is not None:
        bias.normal_(0, BIAS_STD, generator=generator)


def _scale_batch_norm(module: nn.BatchNorm1d, generator: torch.Generator) -> None:
    if module.running_mean is not None and module.running_var is not None:
        module.running_mean.normal_(0, 0.2, generator=generator)
        module.running_var.uniform_(0.5, 2.0, generator=generator)
    if module.affine:
        module.weight.uniform_(0.5, 1.5, generator=generator)
        module.bias.normal_(0, BIAS_STD, generator=generator)


def _scale_bare(parameter: Tensor, generator: torch.Generator) -> None:
    """A parameter that a layer holds itself (cross kernels): only if it is as good as zero."""
    if not parameter.is_floating_point() or not 1 < parameter.numel() < LARGEST_BARE_PARAMETER:
        return
    if float(parameter.abs().max()) < 1e-2:
        parameter.normal_(0, 0.05, generator=generator)
