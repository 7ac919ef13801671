"""The earlier votes, by the guide: one line per map and annotator, never changed afterwards.

No classifier learns from them any more (`labelling.fresh` has what it learns from).
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VOTES = Path(__file__).parent / "votes.tsv"
ANNOTATORS = (1, 2, 4, 5, 6)
"""The annotators of all maps for evaluation, who did not see each other's votes."""
FURTHER = (8, 9, 10, 11)
"""Who labelled the maps on which at most three of these agree, among others to learn from."""
EVERYBODY = ANNOTATORS + FURTHER
"""Whose votes count."""
THIRD, LAST = 3, 7
"""Besides them: a third look where the first two disagreed; a last one where even that left a tie
among the five. 0 is the guide, of its own examples."""


QUESTIONS = ("column", "diagonal", "block", "else")
"""Of the guide: does a column count, a diagonal, are there blocks, is something else as dark?"""
Answers = tuple[bool, ...]


def shape_of(answers: Answers) -> str:
    """The guide's table: the shape that follows from the answers.

    >>> shape_of((True, True, False, False))
    'vertical+diagonal'
    """
    column, diagonal, block, other = answers
    if other or not (column or diagonal or block):
        return "heterogeneous"
    found = [name for name, there in (("vertical", column), ("diagonal", diagonal)) if there]
    return "+".join(found) or "block"


@dataclass(frozen=True)
class Vote:
    """What one annotator said of one map.

    Attributes:
        answers: to the guide's `QUESTIONS`.
        shape: one of the five patterns of Kovaleva et al. 2019.
        matching: whether lines link tokens to their counterparts in the other sentence of a pair.
    """

    number: int
    annotator: int
    answers: Answers
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
        agreed: how many of its votes are for this shape.
        votes: how many it has.
    """

    shape: str
    matching: bool
    agreed: int
    votes: int


@cache
def read_votes() -> tuple[Vote, ...]:
    """All votes."""
    with VOTES.open(encoding="utf-8", newline="") as file:
        return tuple(
            Vote(
                int(row["number"]),
                int(row["annotator"]),
                tuple(row[question] == "yes" for question in QUESTIONS),
                row["shape"],
                row["matching"] == "yes",
            )
            for row in csv.DictReader(file, delimiter="\t")
        )


def by_annotator(annotator: int) -> dict[int, Vote]:
    """The votes of one annotator by the number of the map."""
    return {vote.number: vote for vote in read_votes() if vote.annotator == annotator}


def by_map() -> dict[int, list[Vote]]:
    """All annotators' votes on each map; there are none on the guide's examples."""
    found: dict[int, list[Vote]] = {}
    for vote in read_votes():
        if vote.annotator in EVERYBODY:
            found.setdefault(vote.number, []).append(vote)
    return dict(sorted(found.items()))


def labels() -> dict[int, Label]:
    """What most annotators say; among shapes with as many votes, what was said after another look,
    or what more of the first five say. The guide's examples have no label: annotators knew what to
    say.

    >>> labels()[0]
    Label(shape='vertical', matching=False, agreed=5, votes=5)
    """
    looks = [by_annotator(THIRD), by_annotator(LAST)]
    made = {}
    for number, votes in by_map().items():
        shapes = Counter(vote.shape for vote in votes)
        most = max(shapes.values())
        first = Counter(vote.shape for vote in votes if vote.annotator in ANNOTATORS)
        best = sorted(
            (shape for shape, count in shapes.items() if count == most), key=lambda one: -first[one]
        )
        after = [look[number].shape for look in looks if number in look]
        shape = next((said for said in after if said in best), best[0])
        matching = sum(vote.matching for vote in votes) * 2 > len(votes)
        made[number] = Label(shape, matching, most, len(votes))
    return made
