"""Confidence: how much of its attention a head puts on one token (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention


@analysis("confidence")
class Confidence(Analysis):
    """Mean of the largest weight of a row, separators left out and nothing renormalised. A
    confident head usually attends to one token; the important heads of a model tend to be so.

    Queries are the tokens of the text. The baseline attends to all visible tokens alike.
    """

    def start(self) -> None:
        self.largest, self.uniform = Tally(self.shape), Tally(self.shape, heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        queries = batch.texts[:, None].float()
        specials = batch.special & ~batch.separator  # few, and in most models only the first
        places = specials.float().topk(int(specials.sum(1).max()), dim=1).indices
        for tally, maps in ((self.largest, attention), (self.uniform, attention.uniform)):
            largest = maps.peak
            if places.shape[1]:
                there = maps.at(places) * specials.gather(1, places)[:, None, None]
                largest = torch.maximum(largest, there.amax(-1))
            sums = (largest * queries).sum(-1, keepdim=True)
            tally.add(attention.layer, sums, queries.sum(-1, keepdim=True), batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        text = "mean of the largest weight, separators left out"
        lines = {"": "largest weight of a row (confidence)"}
        yield Statistic("largest", self.largest, self.uniform, Unit.SHARE, text, headlines=lines)
