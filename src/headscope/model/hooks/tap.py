"""The tap: answers what watchers ask of the attention of every layer, and keeps nothing.

For the time of a `with` it stands in for the attention of a model, which is then what it was. One
model serves one watcher at a time (a lock per model); different models can be watched side by side,
since nothing is shared between them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.model.adapters import Adapter
from headscope.model.attention import Kind, Seen, Site, View, Visible, Watcher
from headscope.model.attention.answers import MapAnswers, Plan
from headscope.model.attention.layer import LayerAttention
from headscope.model.batch import Batch
from headscope.model.hooks.attention_function import AttentionCall
from headscope.model.hooks.head_outputs import LOWEST, attending, visible_keys
from headscope.model.hooks.transformed_norms import TransformedNorms
from headscope.model.hooks.workspace import Workspace
from headscope.model.modes import evaluating
from headscope.model.pruned.kept import check_intact

_LOCKS: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def lock_of(model: nn.Module) -> threading.RLock:
    """The one lock of a model, however many times it was wrapped."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(model, threading.RLock())


@contextmanager
def exclusive(network: nn.Module) -> Iterator[None]:
    """For the time of a `with` nobody else has the network, and dropout is off in all its parts."""
    with lock_of(network), evaluating(network):
        yield


class Tap:
    """Feeds batches to a model; every layer's attention answers what the watchers asked.

    Args:
        watchers: ask once for each batch and mask, and take the answers of every layer.
        sites: where the model attends, by number; None: as each mask says.
        norm_weighted: weights are multiplied by the norms of value vectors, rows summing to 1.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        adapter: Adapter,
        watchers: Sequence[Watcher] = (),
        *,
        sites: Mapping[int, Site] | None = None,
        norm_weighted: bool = False,
    ) -> None:
        self.model, self.adapter, self.watchers = model, adapter, watchers
        self.sites, self.norm_weighted = sites, norm_weighted
        self.batch: Batch | None = None
        self.turn, self.layer = 0, -1
        self.plans: dict[tuple[Kind | None, int], Plan] = {}
        self.scope: dict[Any, Any] = {}
        self.space = Workspace()

    @cached_property
    def norms(self) -> TransformedNorms:
        """Computes the norms of transformed value vectors."""
        return TransformedNorms(self.model, self.adapter)

    @torch.inference_mode()
    def forward(self, batch: Batch) -> Tensor:
        """Run the model on a batch; watchers see each layer as it is computed.

        Returns:
            (example, token, hidden) the last layer's output; that of the decoder, if there is one.
        """
        self.begin(batch)
        try:
            output: Tensor = self.model(**batch.inputs(self.model))[0]
            return output
        finally:
            self.batch, self.plans, self.scope = None, {}, {}

    def begin(self, batch: Batch) -> None:
        """Be ready for a batch; forget the one before."""
        self.batch, self.plans, self.scope = batch, {}, {}
        self.turn, self.layer = 0, -1

    @property
    def current(self) -> Batch:
        """The batch that the model is reading."""
        if self.batch is None:
            raise ModelError("the model was called by somebody else while it was being watched")
        return self.batch

    def show(
        self,
        layer: int,
        plan: Plan,
        weights: Tensor,
        value: Tensor,
        scores: Tensor | None = None,
    ) -> None:
        """Answer what was asked of one layer."""

        def norms() -> Tensor:
            return self.norms.of(layer, value, weights.shape[1])

        if layer == self.layer:  # a second time with the same weights
            return
        site = Site(plan.view.kind, layer, self.turn, weights.shape[1])
        if self.sites is not None:
            site = self.sites[layer]
        self.turn, self.layer = self.turn + 1, layer
        attention = LayerAttention(plan.view, weights.float(), scores, self.space, norms)
        answers = MapAnswers(plan, attention.by_norm() if self.norm_weighted else attention)
        for watcher, requests in plan.asked:
            watcher.observe(Seen(site, plan.view, requests, answers, plan))

    def plan(self, layer: int, mask: Tensor | None) -> Plan:
        """What is asked of the layers that share a mask, as the model hands it to its function."""
        kind = self._kind(layer)
        key = kind, 0 if mask is None else mask.data_ptr()
        if key not in self.plans:
            _, keys = self._sides(kind)
            visible = self._simplest(kind, visible_keys(mask, keys.real.shape[1]))
            self.plans[key] = self._plan_of(kind, visible, mask)
        return self.plans[key]

    def _kind(self, layer: int) -> Kind | None:
        return None if self.sites is None else self.sites[layer].kind

    def _sides(self, kind: Kind | None) -> tuple[Batch, Batch]:
        """Whose queries look at whose keys."""
        return self.current.sides(kind or Kind.ENCODER)

    def _plan_of(self, kind: Kind | None, visible: Tensor, mask: Tensor | None) -> Plan:
        """The plan of a mask, (example, 1, query, key); one that was made before if it is equal."""
        for (known, _), plan in self.plans.items():
            same = plan.view.visible
            alike = same.alike == (visible.stride(2) == 0)
            if known is kind and alike and torch.equal(same.whole, visible):
                same.hold(mask)
                return plan
        seen = Visible(visible, mask)
        of = kind or (Kind.DECODER if seen.causal else Kind.ENCODER)
        plan = Plan(View(of, *self._sides(kind), seen, self.scope), self.watchers)
        self.plans[kind, -1 - len(self.plans)] = plan
        return plan

    def _simplest(self, kind: Kind | None, visible: Tensor | None) -> Tensor:
        """(example, 1, query, key) the mask; without memory for queries that all see the same."""
        queries, keys = self._sides(kind)
        real, rows = keys.real[:, None, None, :], queries.real.shape[1]
        examples, _, _, columns = real.shape
        if visible is not None and not (
            visible.shape[2] in (1, rows) and visible.shape[3] in (1, columns)
        ):
            raise ModelError(
                f"it attends over {visible.shape[2]} x {visible.shape[3]} things where the text "
                f"has {columns} tokens"
            )
        if visible is None or torch.equal(visible & real, real.expand_as(visible)):
            visible = real
        return visible.expand(examples, 1, rows, columns)

    def attend(self, layer: int, call: AttentionCall) -> Tensor:
        """(example, query, head, size) the outputs of the heads, as the family computes them."""
        plan, mask = self.plan(layer, call.mask), call.mask
        if not call.plain:
            context, weights = call.run()
            self.show(layer, plan, weights, call.value)
            return context
        query, key, value = call.query, call.key, call.value
        groups = query.shape[1] // key.shape[1]
        if groups > 1:  # grouped-query attention: several heads share keys and values
            key, value = (part.repeat_interleave(groups, dim=1) for part in (key, value))
        scaling = call.options.get("scaling")
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        bias = mask
        if mask is not None and plan.view.once(
            ("pure mask", mask.data_ptr()), lambda: _is_pure(mask)
        ):
            bias = plan.view.visible.bias
        weights, scores = self.weigh(query, key, scaling, bias)
        self.show(layer, plan, weights, call.value, scores)
        return torch.matmul(weights.to(value.dtype), value).transpose(1, 2).contiguous()

    def see(self, layer: int, weights: Tensor, visible: Tensor, value: Tensor) -> None:
        """Look at what a model has computed by itself."""
        kind = self._kind(layer)
        plan = self._plan_of(kind, self._simplest(kind, visible), None)
        self.show(layer, plan, weights, value)

    def weigh(
        self, query: Tensor, key: Tensor, scaling: float, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(example, head, query, key) weights and scores, in memory that the next layer uses too.

        Args:
            query, key: (example, head, token, size)
            bias: what is added to scores before the softmax.
        """
        size = (*query.shape[:3], key.shape[2])
        scores = self.space.take("scores", size, query)
        rows, columns = (part.float().contiguous().flatten(0, 1) for part in (query, key))
        flat = scores.flatten(0, 1)  # one product for all heads of all examples
        torch.baddbmm(flat, rows, columns.mT, beta=0, alpha=scaling, out=flat)
        if bias is not None:
            scores += bias
        return torch.softmax(scores, -1, out=self.space.take("weights", size, query)), scores


def _is_pure(mask: Tensor) -> bool:
    """Whether a mask hides keys and does nothing else."""
    return mask.dtype is torch.bool or bool(((mask == 0) | (mask <= LOWEST)).all())


@contextmanager
def watch(
    model: PreTrainedModel,
    adapter: Adapter,
    *watchers: Watcher,
    sites: Mapping[int, Site] | None = None,
    norm_weighted: bool = False,
) -> Iterator[Tap]:
    """Watch a model for the time of a `with`; it is left as it was, whatever happens inside."""
    tap = Tap(model, adapter, watchers, sites=sites, norm_weighted=norm_weighted)
    with installed(tap):
        yield tap


@contextmanager
def installed(tap: Tap) -> Iterator[None]:
    """Have a tap see its model's attention for the time of a `with`."""
    check_intact(tap.model)
    with exclusive(tap.model), attending(tap.model, tap.adapter) as stand_in:
        earlier, stand_in.observer = stand_in.observer, tap
        try:
            yield
        finally:
            stand_in.observer = earlier
