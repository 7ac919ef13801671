"""The tap: answers what watchers ask of the attention of every layer, and keeps nothing.

A model that routes its attention through transformers' registered functions gets, for the time
of a `with`, a function of ours under a key of its own; any other gets hooks on its attention
modules. Afterwards the model is what it was. One model serves one watcher at a time (a lock per
model); different models can be watched side by side, since nothing is shared between them.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route
from headscope.model.attention import Kind, Seen, Site, View, Visible, Watcher
from headscope.model.attention.answers import MapAnswers, Plan
from headscope.model.attention.layer import LayerAttention
from headscope.model.batch import Batch
from headscope.model.hooks.head_outputs import active_interceptor, route_attention
from headscope.model.hooks.transformed_norms import TransformedNorms
from headscope.model.hooks.workspace import Workspace
from headscope.model.pruned.shrink import check_intact

_LOCKS: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def lock_of(model: nn.Module) -> threading.RLock:
    """The one lock of a model, however many times it was wrapped."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(model, threading.RLock())


@contextmanager
def exclusive(network: nn.Module) -> Iterator[None]:
    """For the time of a `with` nobody else has the network, and dropout is off."""
    with lock_of(network):
        training = network.training
        network.train(False)
        try:
            yield
        finally:
            network.train(training)


class Tap:
    """Feeds batches to a model; every layer's attention answers what the watchers asked.

    Args:
        watchers: ask once for each batch and mask, and take the answers of every layer.
        kind: of the model's attention; None: as each mask says.
        norm_weighted: weights are multiplied by the norms of value vectors, rows summing to 1.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        adapter: Adapter,
        watchers: Sequence[Watcher] = (),
        *,
        kind: Kind | None = None,
        norm_weighted: bool = False,
    ) -> None:
        self.model, self.adapter, self.watchers = model, adapter, watchers
        self.kind, self.norm_weighted = kind, norm_weighted
        self.batch: Batch | None = None
        self.layer = 0  # layers are counted as they run: ALBERT runs one module for all of them
        self.plans: dict[int, Plan] = {}
        self.scope: dict[Any, Any] = {}
        self.space = Workspace()
        self.value: Tensor | None = None

    @cached_property
    def norms(self) -> TransformedNorms:
        """Computes the norms of transformed value vectors."""
        return TransformedNorms(self.model, self.adapter)

    @torch.inference_mode()
    def forward(self, batch: Batch) -> Tensor:
        """Run the model on a batch; watchers see each layer as it is computed.

        Returns:
            (example, token, hidden) the last layer's output.
        """
        self.begin(batch)
        try:
            output: Tensor = self.model(**batch.inputs(self.model))[0]
            return output
        finally:
            self.batch, self.plans, self.scope, self.value = None, {}, {}, None

    def begin(self, batch: Batch) -> None:
        """Be ready for a batch; forget the one before."""
        self.batch, self.layer, self.plans, self.scope = batch, 0, {}, {}

    @property
    def current(self) -> Batch:
        """The batch that the model is reading."""
        if self.batch is None:
            raise ModelError("the model was called by somebody else while it was being watched")
        return self.batch

    def show(
        self,
        module: nn.Module,
        weights: Tensor,
        mask: Tensor | None,
        value: Tensor | None,
        scores: Tensor | None = None,
    ) -> None:
        """Answer what was asked of one layer."""

        def norms() -> Tensor:
            if value is None:
                raise ModelError(f"the value vectors of {self.adapter.family!r} cannot be seen")
            return self.norms.of(module, value, weights.shape[1])

        plan = self.plan(mask)
        site = Site(plan.view.kind, self.layer, self.layer, weights.shape[1])
        self.layer += 1
        attention = LayerAttention(plan.view, weights.float(), scores, self.space, norms)
        answers = MapAnswers(plan, attention.by_norm() if self.norm_weighted else attention)
        for watcher, requests in plan.asked:
            watcher.observe(Seen(site, plan.view, requests, answers, plan))

    def plan(self, mask: Tensor | None) -> Plan:
        """What is asked of the layers that share a mask."""
        key = 0 if mask is None else mask.data_ptr()
        if key not in self.plans:
            batch = self.current
            visible = Visible(self.simplest(mask, batch.real[:, None, None, :]), mask)
            kind = self.kind or (Kind.DECODER if visible.causal else Kind.ENCODER)
            view = View(kind, batch, batch, visible, self.scope)
            self.plans[key] = Plan(view, self.watchers)
        return self.plans[key]

    def simplest(self, mask: Tensor | None, real: Tensor) -> Tensor:
        """(example, 1, query, key) the mask; without memory for queries that all see the same."""
        examples, _, _, length = real.shape
        if mask is None and self.adapter.causal:
            mask = real & real.new_ones(length, length).tril()
        if mask is None or torch.equal(mask, real.expand_as(mask)):
            mask = real
        return mask.expand(examples, 1, length, length)

    def attend(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        **options: Any,
    ) -> tuple[Tensor, None]:
        """Attention as transformers' eager function computes it, shown to the watchers.

        Args:
            query: (example, head, query, size); key, value: (example, head or group, key, size).

        Returns:
            (example, query, head, size) and None: the weights are not kept.
        """
        if interceptor := active_interceptor(self.model):
            interceptor.set_values(value, attention_mask)
        given = value
        groups = query.shape[1] // key.shape[1]
        if groups > 1:  # grouped-query attention: several heads share keys and values
            key, value = (part.repeat_interleave(groups, dim=1) for part in (key, value))
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        biases = [] if options.get("position_bias") is None else [options["position_bias"]]
        if attention_mask is not None:
            biases.append(self.plan(attention_mask).view.visible.bias)
        weights, scores = self.weigh(query, key, scaling, biases)
        self.show(module, weights, attention_mask, given, scores)
        return torch.matmul(weights.to(value.dtype), value).transpose(1, 2).contiguous(), None

    def weigh(
        self, query: Tensor, key: Tensor, scaling: float, biases: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """(example, head, query, key) weights and scores, in memory that the next layer uses too.

        Args:
            query, key: (example, head, token, size)
            biases: what is added to scores before the softmax.
        """
        size = (*query.shape[:3], key.shape[2])
        scores = self.space.take("scores", size, query)
        rows, columns = (part.float().contiguous().flatten(0, 1) for part in (query, key))
        flat = scores.flatten(0, 1)  # one product for all heads of all examples
        torch.baddbmm(flat, rows, columns.mT, beta=0, alpha=scaling, out=flat)
        for bias in biases:
            scores += bias
        return torch.softmax(scores, -1, out=self.space.take("weights", size, query)), scores


@contextmanager
def watch(
    model: PreTrainedModel,
    adapter: Adapter,
    *watchers: Watcher,
    kind: Kind | None = None,
    norm_weighted: bool = False,
) -> Iterator[Tap]:
    """Watch a model for the time of a `with`; it is left as it was, whatever happens inside."""
    tap = Tap(model, adapter, watchers, kind=kind, norm_weighted=norm_weighted)
    with installed(tap):
        yield tap


@contextmanager
def installed(tap: Tap) -> Iterator[None]:
    """Have a tap see its model's attention for the time of a `with`."""
    check_intact(tap.model)
    with exclusive(tap.model), ExitStack() as undo:
        if tap.adapter.route is Route.FUNCTION:
            route_attention(tap.model, tap.attend, undo)
        else:
            _hook(tap.model, tap.adapter, tap, undo)
        yield


def _hook(model: PreTrainedModel, adapter: Adapter, tap: Tap, undo: ExitStack) -> None:
    """Ask every attention module for its weights and look at what it returns."""
    modules = [m for m in model.modules() if type(m).__name__ == adapter.attention_class]

    def ask(
        module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = inspect.signature(module.forward).bind(*arguments, **options)
        call.arguments["output_attentions"] = True  # some models pass it by position
        return call.args, call.kwargs

    def take(module: nn.Module, arguments: tuple[Any, ...], output: tuple[Any, ...]) -> Any:
        weights = output[1]
        value, tap.value = tap.value, None
        if value is not None:
            value = value.view(*value.shape[:-1], weights.shape[1], -1).transpose(1, 2)
        tap.show(module, weights, None, value)
        return (output[0], None, *output[2:])

    def keep(_: nn.Module, __: Any, output: Tensor) -> None:
        tap.value = output

    if adapter.value_projection:
        for block in adapter.blocks(model):
            value = block.get_submodule(adapter.value_projection)
            undo.callback(value.register_forward_hook(keep).remove)
    for module in modules:
        undo.callback(module.register_forward_pre_hook(ask, with_kwargs=True).remove)
        undo.callback(module.register_forward_hook(take).remove)
