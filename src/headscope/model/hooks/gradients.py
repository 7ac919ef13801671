"""Live attention: weights that are still part of the graph, so that a loss can be followed to them.

Nothing is watched here as it streams by: what a layer's heads did is kept until the gradient of a
loss has come back, and then let go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.model.adapters import Adapter
from headscope.model.attention import Visible
from headscope.model.batch import Batch
from headscope.model.hooks.head_outputs import HeadOutputs, changing
from headscope.model.hooks.tap import Tap, installed, lock_of
from headscope.model.loading import Model


class Live(Tap):
    """A tap that keeps the weights of a batch, attached to the graph.

    Attributes:
        weights: of each layer, (example, head, query, key).
        masks: of each layer, what its queries may see.
    """

    def __init__(self, model: PreTrainedModel, adapter: Adapter) -> None:
        super().__init__(model, adapter, lambda _: None)
        self.weights: list[Tensor] = []
        self.masks: list[Visible] = []

    def begin(self, batch: Batch) -> None:
        """Be ready for a batch; forget the one before."""
        self.batch, self.seen, self.weights, self.masks = batch, {}, [], []

    def show(
        self,
        module: nn.Module,
        weights: Tensor,
        mask: Tensor | None,
        value: Tensor | None,
        scores: Tensor | None = None,
    ) -> None:
        """Keep one layer."""
        self.weights.append(weights)
        self.masks.append(self.visible(mask))

    def weigh(
        self, query: Tensor, key: Tensor, scaling: float, biases: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The same as a tap's, in memory of its own and in the graph."""
        scores = torch.matmul(query.float() * scaling, key.float().mT)
        for bias in biases:
            scores = scores + bias
        return torch.softmax(scores, -1), scores


@dataclass
class Gates:
    """Gates of 1 on the output of every head, one a text, for gradients to come back to.

    Attributes:
        values: (layer, example, head)
        live: the attention of the batch, where it was asked for.
    """

    values: Tensor
    live: Live | None = None


@contextmanager
def gated(model: Model, batch: Batch, *, attention: bool = False) -> Iterator[Gates]:
    """Have every head of a model multiplied by a gate of 1 for the time of a `with`.

    Args:
        attention: keep the weights as well, for the gradient of a loss by attention.
    """
    ones = torch.ones(
        model.layers, len(batch.ids), model.heads, device=batch.ids.device, requires_grad=True
    )
    gates = Gates(ones)
    with lock_of(model.network), ExitStack() as stack:
        if attention:
            gates.live = Live(model.network, model.adapter)
            stack.enter_context(installed(gates.live))
            gates.live.begin(batch)
            embed = model.network.get_input_embeddings()
            stack.callback(embed.register_forward_hook(_attached).remove)
        stack.enter_context(scaled(model, ones))
        yield gates


@contextmanager
def scaled(model: Model, values: Tensor) -> Iterator[None]:
    """Have the output of every head multiplied by a number for the time of a `with`.

    Args:
        values: (layer, example, head), in the graph or not.
    """

    def change(outputs: HeadOutputs) -> Tensor:
        gate = values[outputs.layer].to(outputs.context.dtype)
        return outputs.context * gate[:, None, :, None]

    with (
        lock_of(model.network),
        changing(model.network, model.adapter, model.heads, change),
    ):
        yield


def _attached(_: nn.Module, __: Any, output: Tensor) -> Tensor:
    """Embeddings that belong to a graph even where the weights are frozen."""
    return output if output.requires_grad else output.requires_grad_()
