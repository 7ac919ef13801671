"""Distances between heads: who attends like whom (Clark et al. 2019, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses._families.tables import DISTANCES, FAMILIES, Distance, Relative
from headscope.analyses.base import Analysis, analysis, option
from headscope.corpus import Pieces, stable_hash
from headscope.evidence import Layout, Statistic, Tally, Unit, estimate, families
from headscope.evidence.divergence import divergences
from headscope.model import Batch
from headscope.model.attention import Request, Rows, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

FOLDED = 32
"""Buckets of evidence: a matrix of all pairs is kept for each, so they are fewer than usual."""


def chosen_rows(pieces: Pieces, rate: float) -> NDArray[np.int64]:
    """Which rows of a text are compared: each with the same chance, by the hash of its id."""
    if rate >= 1:
        return np.arange(len(pieces))
    rng = np.random.default_rng(stable_hash(pieces.example.id))
    return np.nonzero(rng.random(len(pieces)) < rate)[0]


@dataclass(frozen=True)
class DistanceOptions:
    """How much of a corpus is compared."""

    rows: int = option(8192, "Rows of a large corpus that heads are compared on; 0: all.")


@analysis("distances")
class Distances(Analysis):
    """How differently two heads look, for all pairs: 0 where they look alike at every token,
    0.69 (the logarithm of 2) where no token of the one is a token of the other.

    The Jensen-Shannon divergence of the two heads' rows in nats, averaged over all real queries,
    specials included. Of a large corpus some rows are compared, each with the same chance; the
    intervals tell what that costs. A head's distance to the other heads of its layer stands
    beside that to heads of other layers; whether heads of one layer are alike is tested by
    dealing out layers at random among heads.
    """

    options_type = DistanceOptions
    tables = (DISTANCES, FAMILIES)
    page = "headscope.analyses._families.section"

    def make_tallies(self) -> None:
        self.places = self.layout.places
        self.size = len(self.places)
        self.pairs = Tally(Layout(FOLDED, 1, 1), self.size * (self.size - 1) // 2)
        self.upper = np.triu_indices(self.size, 1)
        wanted = self.options.rows
        self.rate = min(1.0, wanted / max(1, self.survey.pieces)) if wanted else 1.0

    def ask(self, view: View) -> dict[str, Request]:
        rows = self._chosen(view.queries)
        places = [(example, row) for example, some in enumerate(rows) for row in some]
        if not places:
            return {}
        example, query = torch.tensor(places, device=view.queries.ids.device).unbind(1)
        return {"rows": Rows(example, query)}

    def _chosen(self, batch: Batch) -> list[NDArray[np.int64]]:
        """The rows of each text that are compared."""
        return batch.once(self, lambda: [chosen_rows(pieces, self.rate) for pieces in batch.pieces])

    def observe(self, seen: Seen) -> None:
        layers: list[Tensor] = seen.view.scope.setdefault(self, [])
        layers.append(seen["rows"])
        if sum(rows.shape[1] for rows in layers) == self.size:
            self._add(torch.cat(layers, 1), seen.view)

    def _add(self, rows: Tensor, view: View) -> None:
        """Compare all heads on the rows of a batch, (row, head of all layers, key)."""
        sums, counts, end = [], [], 0
        chosen = self._chosen(view.queries)
        for some, size in zip(chosen, view.keys.sizes, strict=True):
            start, end = end, end + len(some)
            part = rows[start:end, :, :size].transpose(0, 1).flatten(1)  # (head, row and key)
            sums.append(divergences(part)[self.upper])
            counts.append(len(some))
        by_example = torch.from_numpy(np.stack(sums))[:, None]
        self.pairs.add(0, by_example, torch.tensor(counts)[:, None, None], view.buckets % FOLDED)

    def matrices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(bucket, head, head) summed distances, and (bucket,) over how many rows."""
        sums = np.zeros((FOLDED, self.size, self.size))
        sums[:, self.upper[0], self.upper[1]] = self.pairs.sums[:, 0, 0]
        return sums + sums.transpose(0, 2, 1), self.pairs.counts[:, 0, 0, 0]

    @property
    def few(self) -> bool:
        """Whether there are no layers, or no heads of a layer, to be compared."""
        counts = [heads for heads in self.layout.head_counts if heads]
        return min(len(counts), *counts) < 2

    @property
    def layer(self) -> NDArray[np.int64]:
        """(head,) the layer of each head."""
        return np.array([layer for layer, _ in self.places])

    def statistics(self) -> Iterator[Statistic]:
        sums, rows = self.matrices()
        layers, heads = self.layout.layers, self.layout.heads
        if not rows.sum() or self.few:
            return
        own = self.layer[:, None] == self.layer
        means, counted = [], np.array(self.layout.head_counts)
        for others, many in ((own, counted - 1), (~own, self.size - counted)):
            total = np.zeros((FOLDED, layers, heads, 1))
            layer, head = np.array(self.places).T
            total[:, layer, head, 0] = (sums * others).sum(2)
            counts = rows[:, None] * np.where(counted, many, 0)
            means.append(Tally.of(total, counts[:, :, None, None]))
        yield Statistic(
            "within_layer",
            means[0],
            means[1],
            Unit.NATS,
            "mean distance to the other heads of its layer; the baseline is that to heads of "
            "other layers",
            headlines={"": "distance to its layer"},
        )
        pairs = [float(part.sum()) for part in (own & ~np.eye(self.size, dtype=bool), ~own)]
        apart = (sums * ~own).sum((1, 2)) / pairs[1] - (sums * own).sum((1, 2)) / pairs[0]
        test = families.layer_test(sums.sum(0) / rows.sum(), self.layer)
        yield Statistic(
            "between_minus_within",
            Tally.of(*(part[:, None, None, None] for part in (apart, rows))),
            None,
            Unit.NATS,
            "how much farther heads of different layers are from each other than heads of one "
            "layer; p from layers dealt out at random among heads",
            p=test.p,
        )

    def table_rows(self, corpus: str, weights: str) -> Iterator[Distance | Relative]:
        sums, rows = self.matrices()
        if not rows.sum() or self.few:
            return
        place = (corpus, weights)
        distance = estimate(self.pairs.sums[:, 0, 0], self.pairs.counts[:, 0, 0], share=False)
        columns = (*self.upper, distance.value, distance.low.clip(min=0), distance.high, distance.n)
        for first, second, *numbers in zip(*(part.tolist() for part in columns), strict=True):
            yield Distance(*place, *self.places[first], *self.places[second], *numbers)
        matrix = sums.sum(0) / rows.sum()
        plane = families.multidimensional_scaling(matrix)
        cluster = families.cut_dendrogram(matrix, families.dendrogram(matrix))
        nearest = (matrix + np.diag(np.full(self.size, np.inf))).argmin(1)
        for head in range(self.size):
            x, y = plane.points[head].tolist()
            yield Relative(
                *place,
                *self.places[head],
                x,
                y,
                plane.stress,
                int(cluster[head]),
                *self.places[int(nearest[head])],
                float(matrix[head, nearest[head]]),
            )
