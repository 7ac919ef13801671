"""Offset-argmax: where, relative to a token, its largest weight falls (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.analyses.relative_position import OFFSETS, WIDTH
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import VOITA, RoleKind, RoleRule
from headscope.model.attention import Band, Largest, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

HEADLINES = {
    "-1": "largest weight on the previous token",
    "+1": "largest weight on the next token",
}


PLACES = {one: f"the token at {one}" for one in OFFSETS} | {
    "-1": "the token before",
    "0": "the token itself",
    "+1": "the token after",
}
"""Offsets in words."""


@analysis("offset_argmax")
class OffsetArgmax(Analysis):
    """How often the largest weight of a row, specials left out, falls on the token so many
    places before or after. A head with at least 90% at one offset is called positional.

    Queries are the tokens of the text. Two equal largest weights count both; a row that gives
    the text nothing at all has no largest. The baseline picks a visible token of the text at
    random.
    """

    roles = (
        RoleRule(
            "positional",
            "looks, specials left out, most at the token at {group} in {value} of cases",
            "share",
            0.9,
            VOITA,
            rank=60,
            kind=RoleKind.POSITION,
            titles={"": "looks most at {group}"},
            group_words=PLACES,
            mark="{group}",
        ),
    )

    def make_tallies(self) -> None:
        self.hits = Mean(self.layout, len(OFFSETS))

    def ask(self, view: View) -> dict[str, Request]:
        texts = view.tokens.texts
        return {"near": Band(WIDTH, keys=texts), "peak": Largest(texts)}

    def observe(self, seen: Seen) -> None:
        texts = seen.view.tokens.texts
        chance = seen.view.once(self, lambda: self._chance(seen))
        peak = seen["peak"].value
        peak = peak.masked_fill((peak == 0) | ~texts[:, None], 2)  # nothing is as large
        hits = (seen["near"] == peak.unsqueeze(-1)).sum(2)
        self.hits.add(seen, hits, texts.sum(1)[:, None, None], chance)

    def _chance(self, seen: Seen) -> Tensor:
        """(example, 1, offset) the same for a token of the text picked at random."""
        texts = seen.view.tokens.texts.double().unsqueeze(-1)
        share = seen.view.visible.mean(texts)  # (example, query, 1) of what a query sees
        near: Tensor = seen.uniform("near")[:, 0] / share.masked_fill(share == 0, 1)
        return (near * texts).sum(1, keepdim=True)

    def scored_means(self) -> Iterator[ScoredMean]:
        yield ScoredMean("share", self.hits, {name: n for n, name in enumerate(OFFSETS)})

    def statistics(self) -> Iterator[Statistic]:
        text = "how often the largest weight falls at this offset"
        yield Statistic.of(
            "share", self.hits, Unit.SHARE, text, groups=OFFSETS, headlines=HEADLINES
        )
