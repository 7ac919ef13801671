"""Confidence: how much of its attention a head puts on one token (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor


@analysis("confidence")
class Confidence(Analysis):
    """Mean of the largest weight of a row, separators left out and nothing renormalised. A
    confident head usually attends to one token; in Voita's translation models the important
    heads are so.

    Queries are the tokens of the text. The baseline attends to all visible tokens alike.
    """

    def make_tallies(self) -> None:
        self.largest, self.uniform = Tally(self.shape), Tally(self.shape, heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        queries, counts, uniform = attention.visible.once(
            self, lambda: self._known(attention, batch)
        )
        sums = self._largest(attention, batch) @ queries
        self.largest.add(attention.layer, sums, counts, batch.buckets)
        self.uniform.add(attention.layer, uniform, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        queries = batch.texts[:, :, None].float()
        return queries, queries.sum(1)[:, None], self._largest(attention.uniform, batch) @ queries

    def _largest(self, attention: LayerAttention, batch: Batch) -> Tensor:
        """(example, head, query) the largest weight, separators left out."""
        specials = batch.special & ~batch.separator  # few, and in most models only the first
        return torch.maximum(attention.peak, attention.largest(specials))

    def statistics(self) -> Iterator[Statistic]:
        text = "mean of the largest weight, separators left out"
        lines = {"": "largest weight of a row (confidence)"}
        yield Statistic("largest", self.largest, self.uniform, Unit.SHARE, text, headlines=lines)
