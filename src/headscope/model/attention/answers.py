"""How whole maps answer requests: known ones by products that they share, others block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headscope._util.tensors import torch
from headscope.model.attention.blocks import visit
from headscope.model.attention.layer import LayerAttention
from headscope.model.attention.places import At, Norms, Rows, WholeMaps
from headscope.model.attention.request import Request
from headscope.model.attention.requests import (
    Band,
    Entropy,
    Largest,
    LargestFrom,
    Mass,
    Received,
)
from headscope.model.attention.seen import Best
from headscope.model.attention.view import View, in_band
from headscope.model.attention.watchers import Watcher

if TYPE_CHECKING:
    from torch import Tensor


class Plan:
    """What all watchers ask of a view; equal requests are one, whoever asks.

    Attributes:
        asked: every watcher that asks for something, with its requests by name.
        unique: all requests that differ.
    """

    def __init__(self, view: View, watchers: Iterable[Watcher]) -> None:
        self.view = view
        self.unique: list[Request] = []
        self.asked: list[tuple[Watcher, dict[str, Request]]] = []
        for watcher in watchers:
            if requests := watcher.ask(view):
                own = {name: self._known(request) for name, request in requests.items()}
                self.asked.append((watcher, own))

    def _known(self, request: Request) -> Request:
        """The request itself, or an equal one that was asked before."""
        for earlier in self.unique:
            if earlier.equals(request):
                return earlier
        self.unique.append(request)
        return request

    def cost(self, heads: int) -> int:
        """Bytes of the answers that grow with the square of the length."""
        return sum(request.cost(self.view, heads) for request in self.unique)

    @cached_property
    def groups(self) -> tuple[Tensor, dict[Request, slice]]:
        """(example, group, query) the groups of queries of all requests that sum weights over
        them, and which groups are whose.
        """
        parts: list[Tensor] = []
        places: dict[Request, slice] = {}
        end = 0
        for request in self.unique:
            if type(request) in (Mass, Received) and request.words is None:
                if request.over is None:
                    continue
                size = request.over.shape[-1]
                parts.append(request.over.double().mT)
                places[request] = slice(end, end + size)
                end += size
        return torch.cat(parts, 1), places

    @cached_property
    def groups_float(self) -> Tensor:
        """The same in float32."""
        return self.groups[0].float()

    def uniform(self, request: Request) -> Any:
        """The answer of one head that attends to all it sees alike, computed once a view."""
        if not request.constant:
            raise TypeError("a request that differs from site to site has no single baseline")
        own = self.view.once(("baseline", request), lambda: request.baseline(self.view))
        return self._uniform.answer(request) if own is None else own

    @cached_property
    def _uniform(self) -> MapAnswers:
        return MapAnswers(self, LayerAttention.uniform(self.view))


class MapAnswers:
    """Answers the requests of a plan from the whole maps of a layer."""

    def __init__(self, plan: Plan, attention: LayerAttention) -> None:
        self.plan, self.attention = plan, attention
        self._answers: dict[Request, Any] = {}

    def answer(self, request: Request) -> Any:
        """The answer to a request, computed when it is first needed."""
        if request not in self._answers:
            known = KNOWN.get(type(request))
            answer = known(self, request) if known is not None else NotImplemented
            self._answers[request] = self._visit(request) if answer is NotImplemented else answer
        return self._answers[request]

    def _visit(self, request: Request) -> Any:
        """Show the maps to a request as one block."""
        attention = self.attention
        block = attention.word_block(request.words) if request.words else attention.block
        if type(request) not in KNOWN:  # a plug-in's own memory is float32
            block = replace(block, weights=block.weights.float())
        return visit(request, attention.view, attention.weights.shape[1], lambda: [block])

    @cached_property
    def grouped(self) -> Tensor:
        """(example, head, group, key) all sums of rows that the plan needs, in one product."""
        weights = self.attention.weights
        exact = weights.dtype == torch.float64
        groups = self.plan.groups[0] if exact else self.plan.groups_float
        return groups.unsqueeze(1) @ weights


def answer(view: View, weights: Tensor, request: Request) -> Any:
    """The answer to one request, for weights (example, head, query, key) that no tap shows."""
    plan = Plan(view, ())
    plan.unique.append(request)
    return MapAnswers(plan, LayerAttention(view, weights)).answer(request)


def _summed(rows: Tensor, over: Tensor | None) -> Tensor:
    """(example, head, group) from (example, head, query), or the rows as they are."""
    return rows if over is None else rows @ over.to(rows.dtype)


def _entropy(answers: MapAnswers, request: Entropy) -> Any:
    if request.words:
        return NotImplemented
    return _summed(answers.attention.entropy, request.over)


def _received(answers: MapAnswers, request: Received) -> Any:
    place = answers.plan.groups[1].get(request)
    return NotImplemented if place is None else answers.grouped[:, :, place]


def _mass(answers: MapAnswers, request: Mass) -> Any:
    place = answers.plan.groups[1].get(request) if request.over is not None else None
    if place is None or request.together or not isinstance(request.keys, torch.Tensor):
        return NotImplemented
    sums = answers.grouped[:, :, place]
    return sums @ request.keys.unsqueeze(1).to(sums.dtype)


def _band(answers: MapAnswers, request: Band) -> Any:
    attention, view = answers.attention, answers.attention.view
    assert view.tokens is not None  # cross-attention has no offsets
    if request.words:
        return _word_band(answers, request)

    def counted() -> Tensor:
        inside = view.visible.band(request.width)
        if request.keys is not None:
            inside = inside & in_band(request.keys, request.width)
        if request.over is None:
            return inside[:, None, None].to(torch.float32)
        return torch.einsum("bqo,bqg->bgqo", inside.float(), request.over.float())[:, None]

    factors = view.once(("band", request), counted)  # (example, 1, group, query, offset)
    near = attention.band(request.width)
    if request.over is None:
        return near * factors[:, :, 0]
    sums = [(near * factors[:, :, group]).sum(2) for group in range(factors.shape[2])]
    return torch.stack(sums, 2)


def _word_band(answers: MapAnswers, request: Band) -> Any:
    """Sums along the diagonals between words of the text."""
    view, how = answers.attention.view, request.words
    text = view.tokens.words
    if how is None or request.over is None or request.keys is None:
        return NotImplemented
    whole = request.width == text.shape[1] - 1 and request.over.shape[-1] == 1
    if not whole or not _all_equal(text, request.keys, request.over[..., 0] != 0):
        return NotImplemented
    words = answers.attention.words(how)
    place = torch.arange(-request.width, request.width + 1, device=text.device)
    sums = words.diagonals[..., place % words.diagonals.shape[-1]]
    own = words.weights.diagonal(dim1=2, dim2=3) * text[:, None]
    sums[..., request.width] = own.sum(-1)
    return sums.unsqueeze(2)


def _largest(answers: MapAnswers, request: Largest) -> Any:
    attention = answers.attention
    if request.words and _between_words(attention.view, request):
        return Best(*attention.words(request.words).row)
    if request.words or request.queries is not None or not request.itself:
        return NotImplemented
    value = attention.largest(request.keys)
    if request.over is not None:
        return _summed(value, request.over)

    def place() -> Tensor:
        chosen = attention.weights * request.keys[:, None, None]
        return chosen.argmax(-1).masked_fill_(value == 0, -1)

    return Best(value, place)


def _largest_from(answers: MapAnswers, request: LargestFrom) -> Any:
    if request.words and _between_words(answers.attention.view, request):
        return Best(*answers.attention.words(request.words).column)
    return NotImplemented


def _between_words(view: View, request: Largest | LargestFrom) -> bool:
    """Whether words of the text choose among the others."""
    if request.itself or request.over is not None or view.queries is not view.keys:
        return False
    if request.keys is None or request.queries is None:
        return False
    keys, queries = request.keys, request.queries
    return view.once(
        ("between words", request), lambda: _all_equal(view.tokens.words, keys, queries)
    )


def _all_equal(first: Tensor, *others: Tensor) -> bool:
    return all(other is first or torch.equal(other, first) for other in others)


def _at(answers: MapAnswers, request: At) -> Any:
    attention = answers.attention
    weights = attention.words(request.words).weights if request.words else attention.weights
    return request.join(weights.transpose(1, 2)[request.example, request.query, :, request.key])


def _rows(answers: MapAnswers, request: Rows) -> Any:
    attention = answers.attention
    weights = attention.words(request.words).weights if request.words else attention.weights
    size = request.width(attention.view)
    return weights.transpose(1, 2)[request.example, request.query][..., :size]


def _whole_maps(answers: MapAnswers, request: WholeMaps) -> Any:
    attention = answers.attention
    weights = attention.words(request.words).weights if request.words else attention.weights
    maps = weights if request.examples is None else weights[list(request.examples)]
    return maps[:, :, : request.size, : request.size]


def _norms(answers: MapAnswers, _: Norms) -> Any:
    return answers.attention.norms


KNOWN: dict[type[Request], Callable[[MapAnswers, Any], Any]] = {
    Entropy: _entropy,
    Mass: _mass,
    Received: _received,
    Band: _band,
    Largest: _largest,
    LargestFrom: _largest_from,
    At: _at,
    Rows: _rows,
    WholeMaps: _whole_maps,
    Norms: _norms,
}
"""Requests that whole maps answer faster than block by block; a subclass is not among them."""
