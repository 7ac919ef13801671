"""Links between words as the notebook of Kobayashi et al. 2020 draws and counts them
(exp2_nmt/calculate_aer.py).

Every target word is linked to the source word with the largest attention, or with the largest
norm of what is added for it; no link is drawn where the end of the source has more than any word.
A layer draws by the mean of its heads' attention, or by the norm of the sum of what they add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses._alignment.word_pairs import WordPairs
from headscope.corpus import Pieces
from headscope.evidence.paired import Resamples
from headscope.model import HeadOutputs, Model, intercept_head_outputs
from headscope.model.attention import Kind, Request, Rows, Seen, View
from headscope.model.hooks.transformed_norms import head_projections

Floats = NDArray[np.float64]
SETTINGS = ("AWO", "AWI")
"""The query that stands for a target word: that which says it, or that which reads it."""
BY = ("attention weights", "vector norms")
TEXTS = 8
"""In a batch, so that the vectors of all pairs of tokens fit."""


@dataclass
class LinkErrors:
    """Wrong and right links of every text, and the norms of what heads add.

    Attributes:
        wrong, links: (text, setting, by, layer, unit) what AER is a ratio of, |A| + |S| less the
            links that are right, and |A| + |S|; a unit is a head, and the last is the whole layer.
        norms, pairs: (text, layer, head) summed norms of what a head adds, and (text, 1, 1) the
            pairs of tokens that they are of.
        weights: (sample, text) how often each text counts: once, then as often as it was drawn.
    """

    wrong: Floats
    links: Floats
    norms: Floats
    pairs: Floats
    weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        texts = len(self.wrong)
        drawn = Resamples([str(number) for number in range(texts)]).weights
        self.weights = np.concatenate([np.ones((1, texts)), drawn])

    def rates(self) -> Floats:
        """(sample, setting, by, layer, unit) AER of all texts, then of every resample of them."""
        return self._ratio(self.wrong, self.links)

    def mean_norms(self) -> Floats:
        """(sample, layer, head) the mean norm of what a head adds, as above."""
        return self._ratio(self.norms, self.pairs)

    def _ratio(self, sums: Floats, counts: Floats) -> Floats:
        return np.asarray(
            np.tensordot(self.weights, sums, 1) / np.tensordot(self.weights, counts, 1)
        )


def count_links(model: Model, texts: Sequence[Pieces]) -> LinkErrors:
    """The links that the cross-attention of a model draws between texts and their translations."""
    batches = []
    for start in range(0, len(texts), TEXTS):
        drawn = _LinksOfBatch(model)
        with (
            model.watch(drawn) as tap,
            intercept_head_outputs(model.network, model.adapter, drawn.see_values),
        ):
            tap.forward(model.batch(texts[start : start + TEXTS]))
        batches.append(drawn)

    def layers(name: str) -> Floats:
        return np.concatenate([np.stack(getattr(each, name), -2) for each in batches])

    pairs = np.concatenate([each.pairs for each in batches])
    return LinkErrors(layers("wrong"), layers("links"), layers("norms"), pairs)


class _LinksOfBatch:
    """Links of the texts of a batch, layer by layer.

    Attributes:
        wrong, links: of every layer (text, setting, by, unit); norms: of every layer (text, head).
        pairs: (text, 1, 1) pairs of a target and a source token.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.wrong: list[Floats] = []
        self.links: list[Floats] = []
        self.norms: list[Floats] = []
        self.pairs: Floats = np.zeros((0, 1, 1))
        self._maps: tuple[Seen, Tensor] | None = None

    def ask(self, view: View) -> dict[str, Request]:
        """All maps of cross-attention."""
        return {"maps": Rows.whole(view)} if view.kind is Kind.CROSS else {}

    def observe(self, seen: Seen) -> None:
        """Keep the maps until the values of the layer are seen."""
        self._maps = seen, seen["maps"]

    def see_values(self, outputs: HeadOutputs) -> Tensor:
        """Draw the links of a layer; its outputs stay as they are."""
        if self._maps is not None:
            seen, maps = self._maps
            self._maps = None
            self._draw(seen.view, maps, self._added(outputs, maps.shape[1]))
        return outputs.context

    def _added(self, outputs: HeadOutputs, heads: int) -> Tensor:
        """(text, head, key, hidden) the transformed value vectors."""
        network, adapter = self.model.network, self.model.adapter
        parts = head_projections(adapter.projection_of(network, outputs.layer), heads)
        groups = heads // outputs.value.shape[1]  # of heads that share values
        return outputs.value.float().repeat_interleave(groups, dim=1) @ parts

    def _draw(self, view: View, maps: Tensor, vectors: Tensor) -> None:
        """Count the links of a layer.

        Args:
            maps: (text, head, query, key); vectors: (text, head, key, hidden).
        """
        norms = maps * vectors.norm(dim=-1)[:, :, None]
        together = torch.einsum("bhqk,bhkd->bqkd", maps, vectors).norm(dim=-1)
        real = view.queries.real[:, None, :, None] & view.keys.real[:, None, None, :]
        self.norms.append(_array((norms * real).sum((2, 3))))
        self.pairs = _array(real.sum((2, 3)))[..., None]
        units = [
            torch.cat([maps, maps.mean(1, keepdim=True)], 1),
            torch.cat([norms, together[:, None]], 1),
        ]
        pairs = view.once(_LinksOfBatch, lambda: WordPairs.of(view, "mean"))
        counted = [
            [count(pairs, choices(pairs, each, view, said=setting == "AWO")) for each in units]
            for setting in SETTINGS
        ]
        for kept, place in ((self.wrong, 0), (self.links, 1)):
            kept.append(np.stack([np.stack([by[place] for by in row], 1) for row in counted], 1))


def choices(pairs: WordPairs, maps: Tensor, view: View, *, said: bool) -> Tensor:
    """(text, unit, target word) the source word with the most; -1 where the end has more.

    Args:
        maps: (text, unit, query, key).
    """
    rows = pairs.saying if said else pairs.reading
    ends = (view.keys.real & ~pairs.members.bool().any(-1)).float()
    most = pairs.word_maps(maps, said=said).masked_fill(~pairs.there, -1.0)
    end = torch.einsum("btq,buqk,bk->but", rows, maps, ends)
    return most.argmax(-1).masked_fill(end > most.amax(-1), -1)


def count(pairs: WordPairs, drawn: Tensor) -> tuple[Floats, Floats]:
    """(text, unit) wrong links and all links, as AER counts them: 1 - (|A and S| + |A and P|) /
    (|A| + |S|) with drawn links A, sure links S and possible ones P.
    """
    drawn = drawn.masked_fill(~pairs.asked[:, None], -1)
    links = (drawn >= 0).sum(-1) + pairs.sure.sum((1, 2))[:, None]
    right = pairs.hits(pairs.possible, drawn) + pairs.hits(pairs.sure, drawn)
    return _array(links - right), _array(links)


def _array(values: Tensor) -> Floats:
    return values.double().cpu().numpy()
