"""Special tokens and punctuation (Clark et al. 2019, section 3.2; Kovaleva et al. 2019, 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import CLARK, OURS, RoleRule
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor

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
        )
        for number, (name, words, group) in enumerate(RESTING)
    )

    def make_tallies(self) -> None:
        self.mass = Tally(self.shape, len(QUERIES) * len(KEYS))
        self.uniform = Tally(self.shape, len(QUERIES) * len(KEYS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        queries, keys, counts, uniform = attention.visible.once(
            self, lambda: self._known(attention, batch)
        )
        sums = attention.mass(queries, keys).flatten(2)  # (example, head, query group x role)
        self.mass.add(attention.layer, sums, counts, batch.buckets)
        self.uniform.add(attention.layer, uniform, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        roles = (batch.first, batch.separator, batch.stop, batch.punctuation, batch.other)
        keys = torch.stack(roles, dim=-1).float()
        groups = (batch.real, batch.separator, batch.real & ~batch.separator)
        queries = torch.stack(groups, dim=1).float()
        counts = queries.sum(-1).repeat_interleave(len(KEYS), dim=1)[:, None]
        return queries, keys, counts, attention.uniform.mass(queries, keys).flatten(2)

    def statistics(self) -> Iterator[Statistic]:
        text = "mean attention to tokens of this role"
        for place, direction in enumerate(QUERIES):
            part = slice(place * len(KEYS), (place + 1) * len(KEYS))
            mass, uniform = self.mass.part(part), self.uniform.part(part)
            lines = HEADLINES[direction]
            yield Statistic("mass", mass, uniform, Unit.SHARE, text, KEYS, direction, lines)
