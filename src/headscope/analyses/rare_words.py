"""Rare words: heads that point at the least frequent word of a sentence (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.base import Analysis, Needs, analysis
from headscope.corpus import Pieces
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention

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

    needs = (Needs.FREQUENCIES,)

    def start(self) -> None:
        self.hits = Tally(self.shape, len(GROUPS))
        self.chance = Tally(self.shape, len(GROUPS), heads=1)
        self._batch: Batch | None = None
        self._targets: list[Tensor] = []

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        if batch is not self._batch:  # the same for all layers
            self._batch, self._targets = batch, self._find(batch)
        peak = attention.peak
        counts = batch.texts.sum(-1) * self._targets[0].any(-1)
        candidates = (attention.visible.mask & batch.texts[:, None, None]).sum(-1).clamp_min(1)
        queries = batch.texts[:, None]
        hits, chances = [], []
        for targets in self._targets:
            places = targets.float().topk(int(targets.sum(1).max()), dim=1).indices
            there = (attention.at(places) * targets.gather(1, places)[:, None, None]).amax(-1)
            hits.append(((there == peak) & (peak > 0) & queries).sum(-1))
            share = (attention.visible.mask & targets[:, None, None]).sum(-1) / candidates
            chances.append((share * queries).sum(-1))
        where = counts[:, None, None]
        self.hits.add(attention.layer, torch.stack(hits, -1), where, batch.buckets)
        self.chance.add(attention.layer, torch.stack(chances, -1), where, batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        text = "how often the largest weight falls on the least frequent word"
        yield Statistic(
            "share", self.hits, self.chance, Unit.SHARE, text, GROUPS, headlines=HEADLINES
        )

    def _find(self, batch: Batch) -> list[Tensor]:
        """Masks (example, token) of the rarest and of the two rarest words."""
        masks = np.zeros((2, *batch.real.shape), dtype=bool)
        for place, pieces in enumerate(batch.pieces):
            for group, words in enumerate(self.rarest(pieces)):
                masks[group, place, : len(pieces)] = np.isin(pieces.word, words)
        return [torch.from_numpy(mask).to(batch.real.device) for mask in masks]

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
