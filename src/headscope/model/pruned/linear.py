"""Linear maps whose inputs or outputs are parts of equal size, one for each head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

LINEAR = (nn.Linear, Conv1D)
"""Modules that are linear maps; the weight of a `Conv1D` is transposed: (in, out)."""


def parts_of(count: int, size: int, kept: Sequence[int]) -> Tensor:
    """(kept * size,) indices of some parts in a vector of equal parts.

    >>> parts_of(3, 2, [0, 2])
    tensor([0, 1, 4, 5])
    """
    return torch.arange(count * size).view(count, size)[list(kept)].flatten()


def outputs_of(module: nn.Module) -> int:
    """How many outputs a linear map has."""
    weight = module.get_parameter("weight")
    return int(weight.shape[1] if isinstance(module, Conv1D) else weight.shape[0])


def select(module: nn.Module, indices: Tensor, *, outputs: bool) -> None:
    """Keep only some outputs, or some inputs, of a linear map."""
    weight = module.get_parameter("weight")
    transposed = isinstance(module, Conv1D)
    indices = indices.to(weight.device)
    module.weight = nn.Parameter(weight.index_select(int(outputs is transposed), indices))
    if outputs and isinstance(module.bias, Tensor):
        module.bias = nn.Parameter(module.bias[indices])
    names = ("nx", "nf") if transposed else ("in_features", "out_features")
    setattr(module, names[outputs], len(indices))


def fold_into_bias(projection: nn.Module, means: Tensor, removed: Sequence[int]) -> None:
    """Add the mean outputs of removed heads, (head, size), to the bias of the output projection."""
    weight = projection.get_parameter("weight")
    rows = weight if isinstance(projection, Conv1D) else weight.T  # (heads * size, hidden)
    indices = parts_of(len(means), means.shape[-1], removed)
    mean = means[list(removed)].to(weight).flatten() @ rows[indices]
    bias = projection.bias if isinstance(projection.bias, Tensor) else torch.zeros_like(mean)
    projection.bias = nn.Parameter(bias + mean)
