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


@dataclass
class Trace:
    """The tensors of a forward pass to which relevance can be propagated back.

    Attributes:
        ledger: relevance that biases and epsilons absorbed.
        first_input: (text, token, hidden) input of the first layer.
        layers: the numbers of the layers that attend.
        contexts: for each of them, (text, token, head, size) outputs of its heads.
        skips: for each, (text, token, hidden) its residual path past the heads.
        entries: for each, the first entry of the ledger above its heads.
    """

    ledger: Ledger
    first_input: Tensor | None = None
    layers: list[int] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)
    skips: list[Tensor] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)

    def relevance(self, score: Tensor) -> tuple[list[Tensor], list[Tensor], float]:
        """Propagate a score back.

        Returns:
            For each layer that attends, the relevance of its heads (text, head) and of its residual
            path; and that of the input of the first layer.
        """
        if len(self.skips) != len(self.contexts):
            raise ModelError(
                "in some layers the input is not added to the output of the heads, so relevance "
                "cannot be told apart by layers"
            )
        inputs = [] if self.first_input is None else [self.first_input]
        try:
            gradients = torch.autograd.grad(score, [*inputs, *self.contexts, *self.skips])
        except RuntimeError as error:
            raise ModelError(
                "relevance cannot be handed down through all operations of this family"
            ) from error
        first_skip = len(inputs) + len(self.contexts)
        by_context = zip(self.contexts, gradients[len(inputs) : first_skip], strict=True)
        by_skip = zip(self.skips, gradients[first_skip:], strict=True)
        heads = [(context * gradient).sum((1, 3)) for context, gradient in by_context]
        skips = [(skip * gradient).double().sum() for skip, gradient in by_skip]
        entered = sum(
            (float((part.detach() * gradients[0]).double().sum()) for part in inputs), 0.0
        )
        return [part.detach() for part in heads], [part.detach() for part in skips], entered


@contextmanager
def propagate_relevance(model: Model, epsilon: float = EPSILON) -> Iterator[Trace]:
    """Run a model under the rules of relevance for the duration of a `with`.

    The trace is filled by the forward pass inside the `with`.

    Args:
        epsilon: stabiliser of the epsilon rule.
    """
    rules = RelevanceRules(epsilon)
    trace = Trace(rules.ledger)

    def record(outputs: HeadOutputs) -> Tensor:
        trace.layers.append(outputs.layer)
        trace.contexts.append(outputs.context)
        trace.entries.append(len(trace.ledger.biases))
        return outputs.context

    with exclusive(model.network), evaluating(model.whole), ExitStack() as undo:
        for parameter in model.whole.parameters():
            undo.callback(parameter.requires_grad_, parameter.requires_grad)
            parameter.requires_grad_(False)
        undo.enter_context(intercept_head_outputs(model.network, model.adapter, record))
        _record_residuals(model, trace, rules, undo)
        for module in model.whole.modules():
            if type(module).__module__ == activations.__name__:
                undo.callback(module.register_forward_hook(_pass_through_activation).remove)
        undo.enter_context(rules)
        undo.enter_context(torch.enable_grad())
        yield trace


def _pass_through_activation(_: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    return pass_through(arguments[0], output)


def _record_residuals(model: Model, trace: Trace, rules: RelevanceRules, undo: ExitStack) -> None:
    """Record the input of each layer and where it is added to the output of the layer's heads.

    The residual addition of a layer is the first sum, after its heads, of which one term is the
    very tensor that entered the layer.
    """
    entered: list[Tensor] = []

    def enter(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        hidden = arguments[0] if arguments else options["hidden_states"]
        if trace.first_input is None:
            hidden = trace.first_input = hidden.detach().requires_grad_()
        entered[:] = [hidden]
        if arguments:
            return (hidden, *arguments[1:]), options
        return arguments, options | {"hidden_states": hidden}

    def residual(left: Any, right: Any) -> Tensor | None:
        expected = len(trace.skips) < len(trace.contexts)
        if not expected or not entered or not (left is entered[0] or right is entered[0]):
            return None
        skip = entered[0].view_as(entered[0])
        trace.skips.append(skip)
        total: Tensor = skip + (right if left is entered[0] else left)
        return total

    rules.residual = residual
    for block in model.adapter.blocks(model.network):
        handle = block.register_forward_pre_hook(enter, with_kwargs=True)
        undo.callback(handle.remove)
