"""Norms of transformed value vectors: how much a token can contribute through a head.

Token j contributes to the output of token i, through a head, its weight times the vector
f(x_j) = (x_j W_V + b_V) W_O (Kobayashi et al. 2020), so a large weight on a small vector has a
small effect.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.model.adapters import Adapter


class TransformedNorms:
    """Norms of the transformed value vectors of a network, layer by layer."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        self.network, self.adapter = network, adapter
        self._grams: dict[nn.Module, Tensor] = {}

    def of(self, layer: int, value: Tensor, heads: int) -> Tensor:
        """(example, head, key) norm of the transformed value vector v W_O of every token.

        Args:
            value: (example, head or group, key, size)
        """
        gram = self._gram(self.adapter.projection_of(self.network, layer), heads)
        value = value.float()
        if value.shape[1] < heads:  # grouped-query attention
            value = value.repeat_interleave(heads // value.shape[1], dim=1)
        # |v W|^2 = v (W W^T) v^T, which avoids a vector of the hidden size per head and token
        return ((value @ gram) * value).sum(-1).clamp_min(0).sqrt()

    def _gram(self, projection: nn.Module, heads: int) -> Tensor:
        """(head, size, size) W W^T of each head's part of the output projection."""
        if projection not in self._grams:
            parts = head_projections(projection, heads)
            self._grams[projection] = torch.bmm(parts, parts.mT)
        return self._grams[projection]


def head_projections(projection: nn.Module, heads: int) -> Tensor:
    """(head, size, hidden) what each head's output is multiplied by in the output projection.

    >>> head_projections(nn.Linear(4, 3), 2).shape
    torch.Size([2, 2, 3])
    """
    weight = projection.get_parameter("weight").detach().float()
    rows = weight if isinstance(projection, Conv1D) else weight.T  # (heads * size, hidden)
    return rows.reshape(heads, -1, rows.shape[1])
