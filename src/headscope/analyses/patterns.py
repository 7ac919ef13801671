"""Patterns: which of five shapes each map of attention has (Kovaleva et al. 2019, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses._shapes.classifier import SHAPES, classifier
from headscope.analyses._shapes.counterparts import counterpart_features
from headscope.analyses._shapes.features import features
from headscope.analyses._shapes.tokens import Tokens
from headscope.analyses.base import Analysis, ScoredMean, analysis
from headscope.corpus import Pieces
from headscope.corpus.display import NUM_MAPS, display_rank, select_for_maps
from headscope.evidence import Exemplar, Exemplars, Mean, Statistic, Unit
from headscope.evidence.role_rule import KOVALEVA, OURS, RoleKind, RoleRule
from headscope.model.attention import Request, Rows, Seen, View
from headscope.model.hooks.workspace import Workspace

SHOWS = {
    "vertical": "shows columns",
    "diagonal": "shows diagonals",
    "vertical+diagonal": "shows columns and diagonals",
    "block": "stays within each sentence of a pair",
}
"""What a head of each shape does; a heterogeneous head has no role."""


@analysis("patterns")
class Patterns(Analysis):
    """Which share of a head's maps is vertical (columns), diagonal, both, block (each sentence of
    a pair looks at itself) or heterogeneous (none of these), as annotators would say.

    A classifier that has learned from maps labelled by eye (docs/labelling.md) names the
    likeliest shape of every map. `matching` is a flag besides: the share of the maps of sentence
    pairs in which tokens look at their twins in the other sentence. There is no baseline: shapes
    of the same model with random weights are the comparison (--random-weights).
    """

    page = "headscope.analyses._shapes.section"
    roles = (
        *(
            RoleRule(
                shape,
                f"{words} in {{value}} of its maps",
                "shape",
                0.5,
                f"{OURS}, after {KOVALEVA}",
                rank=100 + number,
                groups=(shape,),
                kind=RoleKind.SHAPE,
                titles={"": words},
            )
            for number, (shape, words) in enumerate(SHOWS.items())
        ),
        RoleRule(
            "matching",
            "looks at tokens' twins in the other sentence in {value} of its maps",
            "matching",
            0.5,
            OURS,
            rank=110,
            kind=RoleKind.WORDS,
            titles={"": "looks at a token's twin in the other sentence"},
            mark="twins",
        ),
    )

    def make_tallies(self) -> None:
        self.layouts = Mean(self.layout, len(SHAPES), baseline=False)
        self.matching = Mean(self.layout, baseline=False)
        self._space = Workspace()
        self._kept: dict[int, Pieces] = {}
        self._probabilities: dict[int, list[NDArray[np.float32]]] = {}

    def begin_shard(self, shard: list[Pieces]) -> None:
        self._kept = {id(pieces): pieces for pieces in select_for_maps(shard)}
        self._probabilities = {key: [] for key in self._kept}

    def ask(self, view: View) -> dict[str, Request]:
        return {"maps": Rows.whole(view)}

    def observe(self, seen: Seen) -> None:
        batch, maps = seen.view.tokens, seen["maps"]
        tokens = seen.view.once(self, lambda: Tokens(batch.real, batch.texts, batch.second))
        shares = classifier().probabilities(features(maps, tokens, self._space))
        likeliest = torch.nn.functional.one_hot(shares.argmax(-1), len(SHAPES))
        self.layouts.add(seen, likeliest, torch.ones(len(maps), 1, 1))
        if tokens.paired:
            crossing = counterpart_features(maps, tokens, batch.ids, self._space)
            flagged = classifier().probabilities(crossing, "matching").argmax(-1)
            pair = batch.second.any(1)[:, None, None]
            self.matching.add(seen, flagged.unsqueeze(-1) * pair, pair)
        for place, pieces in enumerate(batch.pieces):
            if id(pieces) in self._kept:
                self._probabilities[id(pieces)].append(shares[place].cpu().numpy().copy())

    def exemplars(self) -> dict[str, Exemplars]:
        store = Exemplars(NUM_MAPS)
        for key, pieces in self._kept.items():
            arrays = {"probabilities": np.concatenate(self._probabilities[key])}
            store.offer(Exemplar(display_rank(pieces), pieces.example.id, {}, arrays))
        return {"maps": store}

    def label_map(self, exemplar: Exemplar, layer: int, head: int) -> tuple[str, float]:
        shares = exemplar.arrays["probabilities"][self.layout.places.index((layer, head))]
        return SHAPES[int(shares.argmax())], float(shares.max())

    def scored_means(self) -> Iterator[ScoredMean]:
        yield ScoredMean("shape", self.layouts, {name: n for n, name in enumerate(SHAPES)})
        yield ScoredMean("matching", self.matching, {"": 0})

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic(
            "shape",
            self.layouts.tally,
            None,
            Unit.SHARE,
            "share of the maps that have this shape",
            SHAPES,
            headlines={shape: f"{shape} maps" for shape in SHAPES},
        )
        if self.matching.tally.counts.any():
            yield Statistic(
                "matching",
                self.matching.tally,
                None,
                Unit.SHARE,
                "share of the maps of pairs in which tokens look at their twins in the other "
                "sentence",
                headlines={"": "maps that match twins"},
            )
