"""Where fresh annotators change from one shape to another, in shares of a map's weight.

python -m labelling.criterion

For two shapes and one share: how often annotators chose the second shape, by the share; the share
at which they are even (a logistic regression on their votes, with an interval by a bootstrap over
heads); the probability that a map of the second has a larger share than a map of the first (AUC);
and how often votes are on the side of the cut where they belong. Maps for training are measured;
the last line tells how the same cut does on the held-out maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from labelling.draw import Shown, read_maps
from labelling.fresh import HELD_OUT, TRAINING, read_fresh
from labelling.problem import features_of, head_of
from labelling.scores import Labels, interval

SHARES = (
    ("heterogeneous", "vertical", "column_share"),
    ("diagonal", "vertical+diagonal", "column_share_of_all"),
    ("heterogeneous", "diagonal", "line_share"),
    ("vertical", "vertical+diagonal", "line_share"),
    ("heterogeneous", "block", "block_share"),
)
"""A shape, another that has more of a share, and which share."""
BINS = 8


@dataclass(frozen=True)
class Votes:
    """Votes for one of two shapes.

    Attributes:
        share: (vote,) of the weight of the map.
        second: (vote,) 1 for the second shape.
        head: (vote,) the head that the map is of.
    """

    share: NDArray[np.float64]
    second: Labels
    head: NDArray[np.str_]

    def even(self, some: Labels) -> float:
        """The share at which the two shapes are equally likely, by some of the votes."""
        line = LogisticRegression(C=1e6).fit(self.share[some, None], self.second[some])
        return float(-line.intercept_[0] / line.coef_[0, 0])

    def right(self, cut: float) -> float:
        """How often votes are on the right side of a cut."""
        return float(np.mean((self.share > cut) == (self.second == 1)))


@dataclass(frozen=True)
class Measured:
    """Shares of one map, and the head that it is of."""

    shares: dict[str, float]
    head: str
    pair: bool


def shares_of(shown: Shown) -> dict[str, float]:
    """The features of a map; and `block_share`, the weight that rows of a pair have in their own
    sentence beyond its share of the tokens.
    """
    rows = shown.sentence >= 0
    own = (shown.sentence[:, None] == shown.sentence)[rows] & rows
    inside = (shown.weights[rows] * own).sum(1).mean() - own.mean()
    return features_of(shown) | {"block_share": float(inside)}


def measured_maps(annotators: tuple[str, ...]) -> dict[int, Measured]:
    """The shares of all maps that some annotators labelled."""
    drawn, shown = read_maps()
    return {
        number: Measured(
            shares_of(shown[number]),
            head_of(drawn[number]),
            bool((shown[number].sentence == 1).any()),
        )
        for number in sorted(set().union(*map(read_fresh, annotators)))
    }


def votes_for(
    pair: tuple[str, str, str], maps: dict[int, Measured], annotators: tuple[str, ...]
) -> Votes:
    """The votes of some annotators for two shapes; for blocks, on pairs of sentences."""
    first, second, share = pair
    kept = [
        (maps[number].shares[share], int(label.shape == second), maps[number].head)
        for annotator in annotators
        for number, label in read_fresh(annotator).items()
        if label.shape in (first, second) and (second != "block" or maps[number].pair)
    ]
    shares, labels, heads = zip(*kept, strict=True)
    return Votes(np.array(shares), np.array(labels), np.array(heads))


def by_share(votes: Votes) -> Iterator[str]:
    """Lines: the range of the share, and how many of the votes in it are for the second shape."""
    edges = np.quantile(votes.share, np.linspace(0, 1, BINS + 1))
    place = np.clip(np.searchsorted(edges, votes.share, side="right") - 1, 0, BINS - 1)
    for part in range(BINS):
        here = place == part
        if here.any():
            mean = votes.second[here].mean()
            yield f"    {edges[part]:.3f} to {edges[part + 1]:.3f}: {mean:.2f} ({here.sum()})"


def main() -> None:
    training, held_out = measured_maps(TRAINING), measured_maps(HELD_OUT)
    for pair in SHARES:
        first, second, share = pair
        votes = votes_for(pair, training, TRAINING)
        cut = votes.even(np.arange(len(votes.share)))
        low, high = interval(votes.even, votes.head)
        auc = roc_auc_score(votes.second, votes.share)
        print(f"{first} or {second}, by {share}: {len(votes.share)} votes")
        print("  range of the share: votes for the second (how many votes)")
        print(*by_share(votes), sep="\n")
        print(f"  even at {cut:.3f} [{low:.3f}, {high:.3f}]; AUC {auc:.3f}; ", end="")
        print(f"right side {votes.right(cut):.3f} of votes")
        if second != "block":  # the held-out maps show none
            others = votes_for(pair, held_out, HELD_OUT)
            print(f"  right side on held-out maps {others.right(cut):.3f}", end=" ")
            print(f"of {len(others.share)} votes")


if __name__ == "__main__":
    main()
