"""Repetition: what the heads of a decoder do when random tokens come a second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Inputs, ScoredMean, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import LENS, OURS, RoleKind, RoleRule
from headscope.model import Batch
from headscope.model.attention import At, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

PLACES = ("previous", "duplicate", "induction", "first")
HEADLINES = {
    "previous": "previous token",
    "duplicate": "same token, before",
    "induction": "induction",
    "first": "attention sink",
}

ROLES = (
    ("induction", "induction", "what followed the same token before"),
    ("duplicate", "duplicate-token", "the same token's first time"),
    ("previous", "previous-token", "the token before"),
    ("first", "attention sink", "the first token"),
)
"""Which place makes which role, and what is said of it."""


@analysis("repetition")
class Repetition(Analysis):
    """What a decoder's heads do on random tokens that come twice: look at the token before, at
    the same token's first time, at what followed it then (induction), or at the first token.

    `weight` is the mean weight on that place over the queries that have one. `detector` is the
    score of TransformerLens's head detector: the share of all attention that falls on such
    places. The baseline attends to all visible tokens alike.
    """

    roles = tuple(
        RoleRule(
            name,
            f"on tokens that come twice, puts {{value}} of its attention on {what}",
            "weight",
            0.4,
            f"{OURS}, after {LENS}",
            rank=rank,
            groups=(group,),
            kind=RoleKind.RESTING if group == "first" else RoleKind.REPETITION,
            titles={"": f"looks at {what}"},
            mark=group[:6],
        )
        for rank, (group, name, what) in enumerate(ROLES, 120)
    )

    inputs = Inputs.REPEATED

    def make_tallies(self) -> None:
        self.weight = Mean(self.layout, 2 * len(PLACES))

    def ask(self, view: View) -> dict[str, Request]:
        example, place, query, key = self._places(view)[0]
        return {"at": At(example, query, key, into=example * len(PLACES) + place)}

    def observe(self, seen: Seen) -> None:
        sums, uniform = (
            weights.view(-1, len(PLACES), weights.shape[1]).mT.repeat(1, 1, 2)
            for weights in (seen["at"], seen.uniform("at"))
        )
        self.weight.add(seen, sums, self._places(seen.view)[1], uniform)

    def _places(self, view: View) -> tuple[tuple[Tensor, ...], Tensor]:
        """(place,) its example, which of `PLACES` it is, its query and key; and (example, 1,
        group) over how many queries.
        """
        return view.once(self, lambda: places_of(view.tokens))

    def scored_means(self) -> Iterator[ScoredMean]:
        yield ScoredMean("weight", self.weight, {name: n for n, name in enumerate(PLACES)})

    def statistics(self) -> Iterator[Statistic]:
        half = len(PLACES)
        yield Statistic.of(
            "weight",
            self.weight.part(slice(0, half)),
            Unit.SHARE,
            "mean weight on this place, over the queries that have one",
            groups=PLACES,
            headlines=HEADLINES,
        )
        yield Statistic.of(
            "detector",
            self.weight.part(slice(half, None)),
            Unit.SHARE,
            "share of all attention on such places, as TransformerLens detects heads",
            groups=PLACES,
        )


def places_of(batch: Batch) -> tuple[tuple[Tensor, ...], Tensor]:
    """See `Repetition._places`."""
    table: list[tuple[int, int, int, int]] = []
    counts = []
    for example, pieces in enumerate(batch.pieces):
        triples = places(pieces.ids.tolist())
        table += [(example, *triple) for triple in triples]
        queries = Counter(which for which, _ in {(which, query) for which, query, _ in triples})
        counts.append(
            [queries[which] for which in range(len(PLACES))] + [len(pieces)] * len(PLACES)
        )
    device = batch.ids.device
    columns = torch.tensor(table, device=device).unbind(1)
    return columns, torch.tensor(counts, device=device)[:, None]


def places(ids: list[int]) -> list[tuple[int, int, int]]:
    """Which of `PLACES`, query and key, of all places of a text.

    >>> [(PLACES[which], query, key) for which, query, key in places([7, 8, 7]) if which in (1, 2)]
    [('duplicate', 2, 0), ('induction', 2, 1)]
    """
    triples = []
    earlier: dict[int, list[int]] = {}
    for query, token in enumerate(ids):
        same = earlier.setdefault(token, [])
        keys = ([query - 1] if query else [], same, [key + 1 for key in same], [0])
        triples += [(which, query, key) for which, there in enumerate(keys) for key in there]
        same.append(query)
    return triples
