"""Special tokens and punctuation (Clark et al. 2019, section 3.2; Kovaleva et al. 2019, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import CLARK, OURS, RoleKind, RoleRule
from headscope.model.attention import ANY, Mass, Request, View

KEYS = ("first", "separator", "stop", "punctuation", "other")
QUERIES = ("from all", "from separator", "from other")
HEADLINES = {
    "from all": {
        "first": "attention to the first token",
        "separator": "attention to separators",
        "stop": "attention to full stops and commas",
        "punctuation": "attention to all punctuation",
    },
    "from separator": {"separator": "separators to separators"},
    "from other": {"separator": "other tokens to separators"},
}


RESTING = (
    ("first token", "rests on the first token with {value} of its attention", "first"),
    ("separator", "rests on separators with {value} of its attention", "separator"),
    ("punctuation", "puts {value} of its attention on punctuation", "punctuation"),
)
"""Roles: their names, what such a head does, the group of keys."""


@analysis("special_tokens")
class SpecialTokens(Analysis):
    """Mean attention mass on tokens by role: the first token, separators, full stops and commas,
    all punctuation, everything else. A head that rests on a special token often does nothing.

    The first token is [CLS], <s> or a decoder's attention sink; separators are [SEP] or </s>,
    all of them together. Separately for queries that are separators and for all others. The
    baseline attends to all visible tokens alike.
    """

    kinds = ANY
    roles = tuple(
        RoleRule(
            name,
            words,
            "mass",
            0.5,
            f"{OURS}, after {CLARK}",
            rank=80 + number,
            groups=(group,),
            direction="from all",
            kind=RoleKind.RESTING,
            titles={"": words.partition(" with {value}")[0].replace("{value} of its", "its")},
            mark=group[:5],
        )
        for number, (name, words, group) in enumerate(RESTING)
    )

    def make_tallies(self) -> None:
        self.mass = Mean(self.layout, len(QUERIES) * len(KEYS))

    def ask(self, view: View) -> dict[str, Request]:
        queries, keys = view.queries, view.keys
        roles = (keys.first, keys.separator, keys.stop, keys.punctuation, keys.other)
        groups = (queries.real, queries.separator, queries.real & ~queries.separator)
        return {"mass": Mass(torch.stack(roles, -1), over=torch.stack(groups, -1))}

    def scored_means(self) -> Iterator[ScoredMean]:
        keys = {name: place for place, name in enumerate(KEYS) if name in HEADLINES[QUERIES[0]]}
        yield ScoredMean("mass", self.mass, keys, QUERIES[0])

    def statistics(self) -> Iterator[Statistic]:
        text = "mean attention to tokens of this role"
        for place, direction in enumerate(QUERIES):
            part = slice(place * len(KEYS), (place + 1) * len(KEYS))
            options = {"direction": direction, "headlines": HEADLINES[direction]}
            mass = self.mass.part(part)
            yield Statistic.of("mass", mass, Unit.SHARE, text, groups=KEYS, **options)
