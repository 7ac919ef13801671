"""Relative position: how much a head looks at its neighbours (Clark et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import CLARK, RoleRule
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor

WIDTH = 8
OFFSETS = tuple(f"{offset:+d}" if offset else "0" for offset in range(-WIDTH, WIDTH + 1))
HEADLINES = {
    "-1": "attention to the previous token",
    "0": "attention to the token itself",
    "+1": "attention to the next token",
}


NEIGHBOURS = (
    ("previous token", "before", "-1"),
    ("next token", "after", "+1"),
    ("same token", "itself", "0"),
)
"""Roles: their names, the token in words, its offset."""


@analysis("relative_position")
class RelativePosition(Analysis):
    """Mean attention to the token so many places before or after. A head near 1 at -1 looks at
    the previous token, at +1 at the next one.

    Queries are the tokens of the text that have a visible token at that place; specials count as
    neighbours (the first word's previous token is the first special). The baseline attends to
    all visible tokens alike.
    """

    roles = tuple(
        RoleRule(
            name,
            f"puts {{value}} of its attention on the token {place}",
            "weight",
            0.5,
            CLARK,
            rank=70 + number,
            groups=(offset,),
        )
        for number, (name, place, offset) in enumerate(NEIGHBOURS)
    )

    def make_tallies(self) -> None:
        self.weight = Tally(self.shape, len(OFFSETS))
        self.uniform = Tally(self.shape, len(OFFSETS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        seen, counts, uniform = attention.visible.once(self, lambda: self._known(attention, batch))
        sums = self._sums(attention, seen)
        self.weight.add(attention.layer, sums, counts, batch.buckets)
        self.uniform.add(attention.layer, uniform, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        seen = (
            attention.visible.in_band(WIDTH) & batch.texts[:, :, None]
        )  # (example, query, offset)
        weight = seen[:, None].float()
        return weight, seen.sum(1)[:, None], self._sums(attention.uniform, weight)

    def _sums(self, attention: LayerAttention, seen: Tensor) -> Tensor:
        """Summed over queries: (example, head, offset)."""
        return (attention.band(WIDTH) * seen).sum(2)

    def statistics(self) -> Iterator[Statistic]:
        text = "mean attention to the token at this offset"
        yield Statistic(
            "weight", self.weight, self.uniform, Unit.SHARE, text, OFFSETS, headlines=HEADLINES
        )
