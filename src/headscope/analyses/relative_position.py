"""Relative position: how much a head looks at its neighbours (Clark et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import CLARK, RoleKind, RoleRule
from headscope.model.attention import Band, Request, View

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
            kind=RoleKind.POSITION,
            titles={"": f"looks at the token {place}"},
            mark=name.partition(" ")[0][:4],
        )
        for number, (name, place, offset) in enumerate(NEIGHBOURS)
    )

    def make_tallies(self) -> None:
        self.weight = Mean(self.layout, len(OFFSETS))

    def ask(self, view: View) -> dict[str, Request]:
        return {"weight": Band(WIDTH, over=view.tokens.texts)}

    def scored_means(self) -> Iterator[ScoredMean]:
        near = {offset: OFFSETS.index(offset) for _, _, offset in NEIGHBOURS}
        yield ScoredMean("weight", self.weight, near)

    def statistics(self) -> Iterator[Statistic]:
        text = "mean attention to the token at this offset"
        yield Statistic.of(
            "weight", self.weight, Unit.SHARE, text, groups=OFFSETS, headlines=HEADLINES
        )
