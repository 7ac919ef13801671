"""What annotators said of the maps: one line a map and annotator, never changed afterwards."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

VOTES = Path(__file__).parent / "votes.tsv"
GUIDE, RESOLVED = 0, 3
"""Annotators besides 1 and 2: the guide's own examples; a third look where the two disagree."""


@dataclass(frozen=True)
class Vote:
    """What one annotator said of one map.

    Attributes:
        annotator: 1 or 2, each without sight of the other; or `GUIDE` or `RESOLVED`.
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


def read_votes() -> list[Vote]:
    """All votes."""
    with VOTES.open(encoding="utf-8", newline="") as file:
        return [
            Vote(int(row["number"]), int(row["annotator"]), row["shape"], row["matching"] == "yes")
            for row in csv.DictReader(file, delimiter="\t")
        ]


def by_annotator(annotator: int) -> dict[int, Vote]:
    """The votes of one annotator by the number of the map."""
    return {vote.number: vote for vote in read_votes() if vote.annotator == annotator}


def labels() -> dict[int, Vote]:
    """What counts for every map: what both say, or what was said after a third look."""
    first, second = by_annotator(1), by_annotator(2)
    agreed = {
        number: vote
        for number, vote in first.items()
        if (vote.shape, vote.matching) == (second[number].shape, second[number].matching)
    }
    return dict(sorted((by_annotator(GUIDE) | by_annotator(RESOLVED) | agreed).items()))
