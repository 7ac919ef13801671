"""What annotators said of the maps: one line a map and annotator, never changed afterwards."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VOTES = Path(__file__).parent / "votes.tsv"
ANNOTATORS = (1, 2, 4, 5, 6)
"""Who labelled all maps, each without sight of the others."""
THIRD, LAST = 3, 7
"""Besides them: a third look where the first two disagreed; a last one
where even that leaves a tie. 0 is the guide, of its own examples."""


@dataclass(frozen=True)
class Vote:
    """What one annotator said of one map.

    Attributes:
        shape: one of the five patterns of Kovaleva et al. 2019.
        matching: whether there are lines that join twins in the two sentences of a pair.
    """

    number: int
    annotator: int
    shape: str
    matching: bool

    @property
    def flag(self) -> str:
        """`matching` or nothing."""
        return "matching" if self.matching else ""


@dataclass(frozen=True)
class Label:
    """What counts for a map.

    Attributes:
        agreed: how many of the annotators said this shape.
    """

    shape: str
    matching: bool
    agreed: int


@cache
def read_votes() -> tuple[Vote, ...]:
    """All votes."""
    with VOTES.open(encoding="utf-8", newline="") as file:
        return tuple(
            Vote(int(row["number"]), int(row["annotator"]), row["shape"], row["matching"] == "yes")
            for row in csv.DictReader(file, delimiter="\t")
        )


def by_annotator(annotator: int) -> dict[int, Vote]:
    """The votes of one annotator by the number of the map."""
    return {vote.number: vote for vote in read_votes() if vote.annotator == annotator}


def by_map() -> dict[int, list[Vote]]:
    """The annotators' votes on each map; there are none on the guide's examples."""
    found: dict[int, list[Vote]] = {}
    for vote in read_votes():
        if vote.annotator in ANNOTATORS:
            found.setdefault(vote.number, []).append(vote)
    return dict(sorted(found.items()))


def labels() -> dict[int, Label]:
    """What most annotators say; among shapes with as many votes, what was said after another look.
    The guide's examples have no label: annotators knew what to say.

    >>> labels()[0]
    Label(shape='vertical', matching=False, agreed=5)
    """
    looks = [by_annotator(THIRD), by_annotator(LAST)]
    made = {}
    for number, votes in by_map().items():
        shapes = Counter(vote.shape for vote in votes)
        most = max(shapes.values())
        best = [shape for shape, count in shapes.items() if count == most]
        after = [look[number].shape for look in looks if number in look]
        shape = next((said for said in after if said in best), best[0])
        matching = sum(vote.matching for vote in votes) * 2 > len(votes)
        made[number] = Label(shape, matching, most)
    return made
