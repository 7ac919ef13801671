"""Confidence: how much of its attention a head puts on one token (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.model.attention import ANY, Largest, Request, View


@analysis("confidence")
class Confidence(Analysis):
    """Mean of the largest weight of a row, separators left out and nothing renormalised. A
    confident head usually attends to one token; in Voita's translation models the important
    heads are so.

    Queries are the tokens of the text. The baseline attends to all visible tokens alike.
    """

    kinds = ANY

    def make_tallies(self) -> None:
        self.largest = Mean(self.layout)

    def ask(self, view: View) -> dict[str, Request]:
        keys = view.keys.real & ~view.keys.separator
        return {"largest": Largest(keys, over=view.queries.texts)}

    def scored_means(self) -> Iterator[ScoredMean]:
        yield ScoredMean("largest", self.largest, {"": 0})

    def statistics(self) -> Iterator[Statistic]:
        text = "mean of the largest weight, separators left out"
        lines = {"": "largest weight of a row (confidence)"}
        yield Statistic.of("largest", self.largest, Unit.SHARE, text, headlines=lines)
