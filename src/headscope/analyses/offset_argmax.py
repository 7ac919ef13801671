"""Offset-argmax: where, relative to a token, its largest weight falls (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope.analyses.base import Analysis, analysis
from headscope.analyses.relative_position import OFFSETS, WIDTH
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import VOITA, RoleRule
from headscope.model import Batch, LayerAttention, in_band

if TYPE_CHECKING:
    from torch import Tensor

HEADLINES = {
    "-1": "largest weight on the previous token",
    "+1": "largest weight on the next token",
}


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
        ),
    )

    def make_tallies(self) -> None:
        self.hits = Tally(self.shape, len(OFFSETS))
        self.chance = Tally(self.shape, len(OFFSETS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        places, counts, chance = attention.visible.once(self, lambda: self._known(attention, batch))
        peak = attention.peak.masked_fill(attention.peak == 0, 2).unsqueeze(-1)
        hits = ((attention.band(WIDTH) == peak) & places).sum(2)
        self.hits.add(attention.layer, hits, counts, batch.buckets)
        self.chance.add(attention.layer, chance, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        texts = batch.texts
        keys = attention.visible.in_band(WIDTH) & in_band(texts, WIDTH)
        places = (keys & texts[:, :, None])[:, None]  # (example, 1, query, offset)
        candidates = (attention.visible.mask & texts[:, None, None]).sum(-1)
        chance = (places / candidates.clamp_min(1).unsqueeze(-1)).sum(2)
        return places, texts.sum(-1)[:, None, None], chance

    def statistics(self) -> Iterator[Statistic]:
        text = "how often the largest weight falls at this offset"
        yield Statistic(
            "share", self.hits, self.chance, Unit.SHARE, text, OFFSETS,
            headlines=HEADLINES,
        )  # fmt: skip
