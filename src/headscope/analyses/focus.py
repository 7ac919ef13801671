"""Focus: how broadly a head looks (Clark et al. 2019, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import CLARK, OURS, RoleKind, RoleRule
from headscope.model.attention import ANY, Entropy, Request, View

ROWS = (
    ("entropy", Unit.NATS, "mean entropy of the attention rows", "entropy of all rows"),
    (
        "entropy_first",
        Unit.NATS,
        "mean entropy of the first token's row",
        "entropy of the first token's row",
    ),
    (
        "entropy_relative",
        Unit.SHARE,
        "mean entropy as a share of the largest possible",
        "entropy, of the largest possible",
    ),
)


@analysis("focus")
class Focus(Analysis):
    """Entropy of attention rows in nats: 0 looks at one token, the logarithm of the length at
    all alike. Its share of that logarithm compares texts of different length.

    Over all real queries, specials included; of the first token's row alone; and relative to
    the logarithm of the number of visible tokens, rows that see one token left out. The
    baseline is the entropy of attention to all visible tokens alike.
    """

    kinds = ANY
    roles = (
        RoleRule(
            "broad",
            "looks everywhere: its entropy is {value} of the largest possible",
            "entropy_relative",
            0.9,
            f"{OURS}, after {CLARK}",
            rank=90,
            kind=RoleKind.SHAPE,
            titles={"": "looks everywhere alike"},
        ),
    )

    def make_tallies(self) -> None:
        self.entropy = Mean(self.layout, len(ROWS))

    def ask(self, view: View) -> dict[str, Request]:
        queries, most = view.queries, view.visible.count.log()  # (example, query)
        broad = queries.real & (most > 0)
        share = broad / most.masked_fill(~broad, 1)
        return {"entropy": Entropy(over=torch.stack([queries.real, queries.first, share], -1))}

    def scored_means(self) -> Iterator[ScoredMean]:
        for place, (name, *_) in enumerate(ROWS):
            yield ScoredMean(name, self.entropy, {"": place})

    def statistics(self) -> Iterator[Statistic]:
        for place, (name, unit, text, line) in enumerate(ROWS):
            part = slice(place, place + 1)
            entropy = self.entropy.part(part)
            yield Statistic.of(name, entropy, unit, text, headlines={"": line})
