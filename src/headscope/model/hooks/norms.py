"""How much a token can give: the norm of its value vector after the output projection.

Kobayashi et al. 2020: what token j adds to the output of token i through a head is the weight
times the vector f(x_j) = (x_j W_V + b_V) W_O, so a large weight on a small vector moves little.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError
from headscope.model.adapters import Adapter


class Norms:
    """The norms of a network's transformed value vectors, layer by layer."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        self._owner: dict[nn.Module, nn.Module] = {}
        self._grams: dict[nn.Module, Tensor] = {}
        for block in adapter.blocks(network):
            projection = block.get_submodule(adapter.output)
            self._owner |= dict.fromkeys(block.modules(), projection)

    def of(self, module: nn.Module, value: Tensor, heads: int) -> Tensor:
        """(example, head, key) the norm of v W_O for every token.

        Args:
            module: whose attention it is (any module of the layer).
            value: (example, head or group, key, size)
        """
        if module not in self._owner:
            raise ModelError("the attention of this model is not where its output projections are")
        gram = self._gram(self._owner[module], heads)
        value = value.float()
        if value.shape[1] < heads:  # grouped-query attention
            value = value.repeat_interleave(heads // value.shape[1], dim=1)
        # |v W|^2 = v (W W^T) v^T, which needs no vector of the model's width per head and token
        return ((value @ gram) * value).sum(-1).clamp_min(0).sqrt()

    def _gram(self, projection: nn.Module, heads: int) -> Tensor:
        """(head, size, size) W W^T of each head's part of the output projection."""
        if projection not in self._grams:
            weight = projection.get_parameter("weight").detach().float()
            rows = weight if isinstance(projection, Conv1D) else weight.T  # (heads * size, hidden)
            parts = rows.reshape(heads, -1, rows.shape[1])
            self._grams[projection] = torch.bmm(parts, parts.mT)
        return self._grams[projection]
