"""Layer-wise relevance propagation through a model: the relevance of heads and residual paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import activations

from headscope.errors import ModelError
from headscope.model.defaults import EPSILON
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.relevance_rules import Ledger, RelevanceRules, pass_through
from headscope.model.hooks.tap import exclusive
from headscope.model.model import Model
from headscope.model.modes import evaluating


@dataclass(frozen=True)
class LayerRelevance:
    """Where a score went on its way down to the input of a layer that attends.

    Attributes:
        layer: counted from 0.
        heads: (text, head) relevance of its heads.
        past: relevance that reaches the input of the layer past its heads: the residual path, and
            where a layer has them, gates, and a feed-forward network beside the heads.
        biases, epsilons: what these absorbed, above the heads and on the way past them.
    """

    layer: int
    heads: Tensor
    past: float
    biases: float
    epsilons: float


@dataclass(frozen=True)
class _Attention:
    """The tensors of one layer that attends.

    Attributes:
        entered: (text, token, hidden) input of the layer.
        context: (text, token, head, size) outputs of its heads.
        start, entry: the first entries of the ledger in the layer, and above its heads.
    """

    layer: int
    entered: Tensor
    context: Tensor
    start: int
    entry: int


@dataclass
class Trace:
    """The tensors of a forward pass to which relevance can be propagated back.

    Attributes:
        ledger: relevance that biases and epsilons absorbed.
        first_input: (text, token, hidden) input of the first layer.
        reached: relevance of that input, once a score was propagated back.
    """

    ledger: Ledger
    first_input: Tensor | None = None
    reached: float = 0.0
    _attentions: list[_Attention] = field(default_factory=list)

    def add(self, layer: int, entered: Tensor, context: Tensor, start: int) -> None:
        """Take note of a layer that attends."""
        entry = len(self.ledger.biases)
        self._attentions.append(_Attention(layer, entered, context, start, entry))

    def relevance(self, score: Tensor) -> list[LayerRelevance]:
        """Propagate a score back to every layer that attends."""
        layers = [each.layer for each in self._attentions]
        if self.first_input is None or len(set(layers)) < len(layers):
            raise ModelError("a layer attends several times, so its heads cannot be told apart")
        ends = [tensor for each in self._attentions for tensor in (each.entered, each.context)]
        try:
            found = torch.autograd.grad(score, [self.first_input, *ends], retain_graph=True)
            self.reached = _times(self.first_input, found[0])
            return [
                self._of_layer(each, *found[place : place + 2])
                for each, place in zip(self._attentions, range(1, len(found), 2), strict=True)
            ]
        except RuntimeError as error:
            raise ModelError(
                "relevance cannot be handed down through all operations of this family"
            ) from error

    def _of_layer(self, each: _Attention, to_input: Tensor, to_heads: Tensor) -> LayerRelevance:
        """What a layer got, from the gradients of its input and of the outputs of its heads."""
        biases, epsilons = self.ledger.absorbed_since(each.start)
        with self.ledger.aside():  # what reaches the input by way of the heads, once more alone
            (by_heads,) = torch.autograd.grad(
                each.context, each.entered, to_heads, retain_graph=True
            )
            below = self.ledger.absorbed_since(each.start)
        heads = (each.context * to_heads).sum((1, 3)).detach()
        past = _times(each.entered, to_input - by_heads)
        return LayerRelevance(each.layer, heads, past, biases - below[0], epsilons - below[1])


def _times(tensor: Tensor, gradient: Tensor) -> float:
    """The relevance of a tensor."""
    return float((tensor.detach() * gradient).double().sum())


@contextmanager
def propagate_relevance(model: Model, epsilon: float = EPSILON) -> Iterator[Trace]:
    """Run a model under the rules of relevance for the duration of a `with`.

    The trace is filled by the forward pass inside the `with`.

    Args:
        epsilon: stabiliser of the epsilon rule.
    """
    rules = RelevanceRules(epsilon)
    trace = Trace(rules.ledger)
    entered: list[tuple[Tensor, int]] = []

    def enter(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        hidden = arguments[0] if arguments else options["hidden_states"]
        if trace.first_input is None:
            hidden = trace.first_input = hidden.detach().requires_grad_()
        hidden = hidden.view_as(hidden)  # what other layers do with it does not count here
        entered[:] = [(hidden, len(trace.ledger.biases))]
        if arguments:
            return (hidden, *arguments[1:]), options
        return arguments, options | {"hidden_states": hidden}

    def record(outputs: HeadOutputs) -> Tensor:
        if not entered:
            raise ModelError("heads are not inside a layer, so relevance cannot be followed")
        (hidden, start), context = entered[0], outputs.context
        trace.add(outputs.layer, hidden, context, start)
        return context

    with exclusive(model.network), evaluating(model.whole), ExitStack() as undo:
        for parameter in model.whole.parameters():
            undo.callback(parameter.requires_grad_, parameter.requires_grad)
            parameter.requires_grad_(False)
        undo.enter_context(intercept_head_outputs(model.network, model.adapter, record))
        for block in model.adapter.blocks(model.network):
            undo.callback(block.register_forward_pre_hook(enter, with_kwargs=True).remove)
        for module in model.whole.modules():
            if type(module).__module__ == activations.__name__:
                undo.callback(module.register_forward_hook(_pass_through_activation).remove)
        undo.enter_context(rules)
        undo.enter_context(torch.enable_grad())
        yield trace


def _pass_through_activation(_: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    return pass_through(arguments[0], output)
