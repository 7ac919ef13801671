"""Rare words: heads that point at the least frequent word of a sentence (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Needs, ScoredMean, analysis
from headscope.corpus import Pieces
from headscope.evidence import Mean, Statistic, Unit
from headscope.evidence.role_rule import OURS, VOITA, RoleKind, RoleRule
from headscope.model import Batch
from headscope.model.attention import ANY, Largest, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = ("rarest", "two rarest")
HEADLINES = {"rarest": "largest weight on the rarest word"}


@analysis("rare_words")
class RareWords(Analysis):
    """How often the largest weight of a row falls on the least frequent word of the text, or on
    one of the two least frequent. Voita and others found one such head in the first layer.

    Over texts whose least frequent word is not among the 500 most frequent of the corpus;
    queries are all tokens of the text, specials are no targets. Words that tie for the place
    count all alike. The baseline picks a visible token of the text at random.
    """

    kinds = ANY
    roles = (
        RoleRule(
            "rare words",
            "looks most at one of the two rarest words of the text in {value} of cases",
            "share",
            0.5,
            f"{OURS}, after {VOITA}",
            rank=50,
            groups=("two rarest",),
            margin=0.25,
            kind=RoleKind.WORDS,
            titles={"": "looks at the rarest words of the text"},
            mark="rare",
        ),
    )

    needs = (Needs.FREQUENCIES,)

    def make_tallies(self) -> None:
        self.hits = Mean(self.layout, len(GROUPS))

    def ask(self, view: View) -> dict[str, Request]:
        targets = zip(GROUPS, self._targets(view), strict=True)
        largest = {name: Largest(keys) for name, keys in targets}
        return {**largest, "peak": Largest(view.keys.texts)}

    def observe(self, seen: Seen) -> None:
        counts, chance = seen.view.once(self, lambda: self._expected(seen.view))
        peak = seen["peak"].value
        queries = (peak > 0) & seen.view.queries.texts[:, None]
        hits = [((seen[name].value == peak) & queries).sum(-1) for name in GROUPS]
        self.hits.add(seen, torch.stack(hits, -1), counts, chance)

    def _targets(self, view: View) -> Tensor:
        return view.once((self, "targets"), lambda: self._find(view.keys))

    def _expected(self, view: View) -> tuple[Tensor, Tensor]:
        """How many queries count, and what a token of the text picked at random would hit."""
        targets, queries = self._targets(view), view.queries.texts
        groups = torch.stack([*targets, view.keys.texts], -1).double()
        shares = view.visible.mean(groups)  # (example, query, group) of what a query sees
        chance = shares[..., :-1] / shares[..., -1:].clamp_min(1e-9) * queries[..., None]
        counts = queries.sum(1) * targets[0].any(1)
        return counts[:, None, None], chance.sum(1, keepdim=True)

    def scored_means(self) -> Iterator[ScoredMean]:
        yield ScoredMean("share", self.hits, {name: n for n, name in enumerate(GROUPS)})

    def statistics(self) -> Iterator[Statistic]:
        text = "how often the largest weight falls on the least frequent word"
        yield Statistic.of("share", self.hits, Unit.SHARE, text, groups=GROUPS, headlines=HEADLINES)

    def _find(self, batch: Batch) -> Tensor:
        """(group, example, token) whether a token is of the rarest, of the two rarest words."""
        masks = np.zeros((2, *batch.real.shape), dtype=bool)
        for place, pieces in enumerate(batch.pieces):
            for group, words in enumerate(self.rarest(pieces)):
                rare = np.zeros(len(pieces.words) + 1, dtype=bool)  # the last one for specials: -1
                rare[words] = True
                masks[group, place, : len(pieces)] = rare[pieces.word]
        return torch.from_numpy(masks).to(batch.real.device)

    def rarest(self, pieces: Pieces) -> tuple[list[int], list[int]]:
        """Positions of the least frequent words, and of the two least frequent, of a text.

        Both are empty where the least frequent word is a frequent one.
        """
        frequencies = self.survey.frequencies
        places = np.unique(pieces.word[pieces.word >= 0]).tolist()
        often = {place: frequencies.of(pieces.words[place]) for place in places}
        ranked = sorted({(often[place], pieces.words[place].lower()) for place in places})
        if not ranked or ranked[0][1] in frequencies.frequent:
            return [], []
        least, second = ranked[0][0], ranked[min(1, len(ranked) - 1)][0]
        return (
            [place for place in places if often[place] <= least],
            [place for place in places if often[place] <= second],
        )
