"""Gates on heads and attention weights that stay in the graph, for gradients of a loss.

Unlike a tap, this keeps the attention of all layers until the gradient has been computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.model.adapters import Adapter
from headscope.model.attention import Site, View
from headscope.model.attention.answers import Plan
from headscope.model.batch import Batch
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.tap import Tap, installed, lock_of
from headscope.model.model import Model
from headscope.model.two_stacks import has_two_stacks


class DifferentiableTap(Tap):
    """A tap that keeps the attention weights of a batch as part of the graph.

    Attributes:
        weights: for each layer that attends, (example, head, query, key).
        views: for each of them, who looks at whom.
        layers: their numbers.
    """

    def __init__(
        self, model: PreTrainedModel, adapter: Adapter, sites: Mapping[int, Site] | None = None
    ) -> None:
        super().__init__(model, adapter, sites=sites)
        self.weights: list[Tensor] = []
        self.views: list[View] = []
        self.layers: list[int] = []

    def begin(self, batch: Batch) -> None:
        """Discard the previous batch and prepare for the next one."""
        super().begin(batch)
        self.weights, self.views, self.layers = [], [], []

    def show(
        self,
        layer: int,
        plan: Plan,
        weights: Tensor,
        value: Tensor,
        scores: Tensor | None = None,
    ) -> None:
        """Keep the weights (example, head, query, key) of a layer."""
        self.weights.append(weights)
        self.views.append(plan.view)
        self.layers.append(layer)

    def weigh(
        self, query: Tensor, key: Tensor, scaling: float, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(example, head, query, key) weights and scores, in the graph and in their own memory."""
        scores = torch.matmul(query.float() * scaling, key.float().mT)
        if bias is not None:
            scores = scores + bias
        return torch.softmax(scores, -1), scores


@dataclass
class Gates:
    """Gates of 1 on the output of every head, separate for each text, that receive gradients.

    Attributes:
        values: (layer, example, head)
        attention: the attention weights of the batch, if they were asked for.
    """

    values: Tensor
    attention: DifferentiableTap | None = None


@contextmanager
def gate_heads(model: Model, batch: Batch, *, attention: bool = False) -> Iterator[Gates]:
    """Multiply the output of every head by a gate of 1 for the duration of a `with`.

    Args:
        batch: the batch that the model is going to read.
        attention: also keep the attention weights, for the gradient of a loss by attention.
    """
    shape = (model.layers, len(batch.ids), model.heads)
    gates = Gates(torch.ones(shape, device=batch.ids.device, requires_grad=True))
    with lock_of(model.network), ExitStack() as undo:
        if attention:
            sites = model.numbered_sites if model.adapter.modules else None
            gates.attention = DifferentiableTap(model.network, model.adapter, sites)
            undo.enter_context(installed(gates.attention))
            gates.attention.begin(batch)
            for embeddings in _embeddings(model.network):
                undo.callback(embeddings.register_forward_hook(_require_gradient).remove)
        undo.enter_context(scale_heads(model, gates.values))
        yield gates


@contextmanager
def scale_heads(model: Model, values: Tensor) -> Iterator[None]:
    """Multiply the output of every head by a number for the duration of a `with`.

    Args:
        values: (layer, example or 1, head) factors, which may require gradients.
    """

    def scale(outputs: HeadOutputs) -> Tensor:
        gate = values[outputs.layer, :, : outputs.context.shape[2]].to(outputs.context.dtype)
        return outputs.context * gate[:, None, :, None]

    interception = intercept_head_outputs(model.network, model.adapter, scale)
    with lock_of(model.network), interception:
        yield


def _embeddings(network: PreTrainedModel) -> list[nn.Module]:
    """The embeddings of tokens: of an encoder and of a decoder, where there are both."""
    every: list[nn.Module] = [
        module for module in network.modules() if isinstance(module, nn.Embedding)
    ]
    if has_two_stacks(network):
        return every
    try:
        return [network.get_input_embeddings()]
    except NotImplementedError:
        return every[:1]


def _require_gradient(_: nn.Module, __: Any, output: Any) -> Any:
    """Embeddings that belong to a graph even if the weights are frozen."""
    embedded = output[0] if isinstance(output, tuple) else output
    if not embedded.requires_grad:
        embedded.requires_grad_()
    return output
