"""Seeing and replacing the outputs of heads, where the attention of a layer is computed.

Whatever follows in the layer (a gate, a norm, the output projection) works on the outputs that an
intervention leaves. Everything is undone at the end of the `with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.model.adapters import Adapter, Route
from headscope.model.hooks.attention_function import AttentionCall, replaced_attention
from headscope.model.hooks.softmax_route import replaced_products
from headscope.model.pruned.kept import check_intact
from headscope.model.two_stacks import stacks_of

LOWEST = -1e4
"""A term of scores that is not above this masks a key."""


def visible_keys(mask: Tensor | None, keys: int) -> Tensor | None:
    """(example or 1, 1, query or 1, key) which keys a query may see, by the mask that a model hands
    to its attention function; None: all of them.

    Args:
        mask: (example or 1, head or 1, query or 1, key or more) bool, or a term of scores.

    >>> visible_keys(torch.tensor([0.0, -1e9])[None, None, None], 2).flatten().tolist()
    [True, False]
    """
    if mask is None:
        return None
    mask = mask[..., :keys]
    visible = mask if mask.dtype is torch.bool else mask > LOWEST
    return visible if visible.shape[1] == 1 else visible.any(1, keepdim=True)


@dataclass(frozen=True)
class HeadOutputs:
    """The outputs of the heads of a layer.

    Attributes:
        layer: counted from 0; in a model with an encoder and a decoder, the number of the attention
            (see `Adapter.modules`).
        context: (example, query, head, size) outputs.
        value: (example, head or group, key, size) value vectors.
        visible: (example, 1, query or 1, key) which keys a query may see; None: all of them.
    """

    layer: int
    context: Tensor
    value: Tensor
    visible: Tensor | None

    def uniform(self, heads: Tensor) -> Tensor:
        """(example, query or 1, head, size) outputs under uniform attention to all visible keys.

        A query that sees nothing (padding, in some models) gets zeros.

        Args:
            heads: (head,) the numbers of the heads.
        """
        groups = self.context.shape[2] // self.value.shape[1]
        value = self.value[:, heads // groups]
        if self.visible is None:
            return value.mean(2, keepdim=True).transpose(1, 2)
        weights = self.visible.to(value.dtype)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return torch.matmul(weights, value).transpose(1, 2)


Intervention = Callable[[HeadOutputs], Tensor]
"""Maps the outputs of heads to what replaces them, (example, query, head, size)."""


class Observer(Protocol):
    """Computes the attention of a layer and sees it."""

    def attend(self, layer: int, call: AttentionCall) -> Tensor:
        """(example, query, head, size) the outputs of the heads."""

    def see(self, layer: int, weights: Tensor, visible: Tensor, value: Tensor) -> None:
        """Look at what a model has computed by itself (see `softmax_route`)."""


class Attending:
    """What happens wherever a network attends: it is seen, then changed.

    Attributes:
        observer: who sees the attention, if anybody does.
        interventions: what changes the outputs of heads, one after the other.
        layer: the layer that is running.
    """

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        check_intact(network)
        self.network, self.adapter = network, adapter
        self.observer: Observer | None = None
        self.interventions: list[Intervention] = []
        self.layer, self._turn = -1, -1
        self._running: nn.Module | None = None
        self._numbers = {
            network.get_submodule(path): number for number, path in enumerate(adapter.modules)
        }

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand in for the network's attention for the time of a `with`."""

        def begin(_: nn.Module, __: Any) -> None:
            self.layer = self._turn = -1

        with ExitStack() as undo:
            if self.adapter.route is Route.FUNCTION or self.adapter.modules:
                undo.enter_context(replaced_attention(self.network, self.attend))
            if self.adapter.route is Route.SOFTMAX:
                for part in stacks_of(self.network) if self._numbers else (self.network,):
                    undo.enter_context(replaced_products(part, self.product))
                for module in self._numbers:
                    undo.callback(module.register_forward_pre_hook(self._run).remove)
            undo.callback(self.network.register_forward_pre_hook(begin).remove)
            yield

    def _next_layer(self) -> None:
        self._turn += 1
        self.layer = self.adapter.layer_of(self._turn)

    def _run(self, module: nn.Module, _: Any) -> None:
        """Take note of the attention that is running."""
        self._running = module

    def _enter(self, module: nn.Module | None) -> None:
        """Know which attention a module is: the next, or in two stacks the one it is known for."""
        if self._numbers:
            self.layer = -1 if module is None else self._numbers.get(module, -1)
        else:
            self._next_layer()

    def attend(self, call: AttentionCall) -> tuple[Tensor, Tensor | None]:
        """Attention of one layer: (example, query, head, size) outputs of heads."""
        self._enter(call.module)
        self._running = None  # the products of this module are those of its function
        if self.layer < 0:
            return call.run()
        if self.observer is not None:
            context = self.observer.attend(self.layer, call)
        else:
            context = call.run_fused() if call.plain else call.run()[0]
        if self.interventions:
            visible = visible_keys(call.mask, call.key.shape[2])
            context = self._intervene(context, call.value, visible)
        return context, None

    def product(self, weights: Tensor, visible: Tensor, value: Tensor, outputs: Tensor) -> Tensor:
        """The same where the model computes its attention itself."""
        if self._numbers and self._running is None:  # inside a function that `attend` has called
            return outputs
        self._enter(self._running)
        self._running = None
        if self.layer < 0:
            return outputs
        if self.observer is not None:
            self.observer.see(self.layer, weights, visible, value)
        return self._intervene(outputs, value, visible) if self.interventions else outputs

    def _intervene(self, context: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
        for intervention in self.interventions:
            context = intervention(HeadOutputs(self.layer, context, value, visible))
        return context


_ACTIVE: WeakKeyDictionary[nn.Module, Attending] = WeakKeyDictionary()


@contextmanager
def attending(network: PreTrainedModel, adapter: Adapter) -> Iterator[Attending]:
    """Stand in for the attention of a network for the time of a `with`; may be nested."""
    if network in _ACTIVE:
        yield _ACTIVE[network]
        return
    stand_in = Attending(network, adapter)
    with ExitStack() as undo:
        undo.callback(_ACTIVE.pop, network)
        _ACTIVE[network] = stand_in
        undo.enter_context(stand_in.installed())
        yield stand_in


def is_attended(network: nn.Module) -> bool:
    """Whether somebody stands in for the attention of a network now."""
    return network in _ACTIVE


@contextmanager
def intercept_head_outputs(
    network: PreTrainedModel, adapter: Adapter, intervention: Intervention
) -> Iterator[Attending]:
    """Replace the outputs of heads by those of an intervention; may be nested."""
    with attending(network, adapter) as stand_in:
        stand_in.interventions.append(intervention)
        try:
            yield stand_in
        finally:
            stand_in.interventions.remove(intervention)
