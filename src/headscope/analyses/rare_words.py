"""Rare words: heads that point at the least frequent word of a sentence (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Needs, analysis
from headscope.corpus import Pieces
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import OURS, VOITA, RoleRule
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = ("rarest", "two rarest")
HEADLINES = {"rarest": "largest weight on the rarest word"}


@analysis("rare_words")
class RareWords(Analysis):
    """How often the largest weight of a row falls on the least frequent word of the text, or on
    one of the two least frequent. Voita and others found one such head in the first layer.

    Over texts whose least frequent word is not among the 500 most frequent of the corpus;
    queries are all tokens of the text, specials are no targets. Words that tie for the place
    count all alike. The baseline picks a visible token of the text at random.
    """

    roles = (
        RoleRule(
            "rare words",
            "looks most at one of the two rarest words of the text in {value} of cases",
            "share",
            0.5,
            f"{OURS}, after {VOITA}",
            rank=50,
            groups=("two rarest",),
            margin=0.25,
        ),
    )

    needs = (Needs.FREQUENCIES,)

    def make_tallies(self) -> None:
        self.hits = Tally(self.shape, len(GROUPS))
        self.chance = Tally(self.shape, len(GROUPS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        targets, queries, counts, chance = attention.visible.once(
            self, lambda: self._known(attention, batch)
        )
        there = torch.stack([attention.largest(words) for words in targets], -1)
        peak = attention.peak.unsqueeze(-1)
        hits = ((there == peak) & (peak > 0) & queries).sum(2)
        self.hits.add(attention.layer, hits, counts, batch.buckets)
        self.chance.add(attention.layer, chance, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        targets = self._find(batch)
        visible = attention.visible.mask & batch.texts[:, None, None]
        share = (visible.squeeze(1) & targets[:, :, None]).sum(-1) / visible.sum(-1).clamp_min(1)[
            :, 0
        ]
        queries = batch.texts[:, None, :, None]
        counts = (batch.texts.sum(-1) * targets[0].any(-1))[:, None, None]
        chance = (share.movedim(0, -1)[:, None] * queries).sum(2)  # (example, 1, group)
        return targets, queries, counts, chance

    def statistics(self) -> Iterator[Statistic]:
        text = "how often the largest weight falls on the least frequent word"
        yield Statistic(
            "share", self.hits, self.chance, Unit.SHARE, text, GROUPS, headlines=HEADLINES,
        )  # fmt: skip

    def _find(self, batch: Batch) -> Tensor:
        """(group, example, token) whether a token is of the rarest, of the two rarest words."""
        masks = np.zeros((2, *batch.real.shape), dtype=bool)
        for place, pieces in enumerate(batch.pieces):
            for group, words in enumerate(self.rarest(pieces)):
                rare = np.zeros(len(pieces.words) + 1, dtype=bool)  # the last one for specials: -1
                rare[words] = True
                masks[group, place, : len(pieces)] = rare[pieces.word]
        return torch.from_numpy(masks).to(batch.real.device)

    def rarest(self, pieces: Pieces) -> tuple[list[int], list[int]]:
        """Positions of the least frequent words, and of the two least frequent, of a text.

        Both are empty where the least frequent word is a frequent one.
        """
        frequencies = self.survey.frequencies
        places = np.unique(pieces.word[pieces.word >= 0]).tolist()
        often = {place: frequencies.of(pieces.words[place]) for place in places}
        ranked = sorted({(often[place], pieces.words[place].lower()) for place in places})
        if not ranked or ranked[0][1] in frequencies.frequent:
            return [], []
        least, second = ranked[0][0], ranked[min(1, len(ranked) - 1)][0]
        return (
            [place for place in places if often[place] <= least],
            [place for place in places if often[place] <= second],
        )
