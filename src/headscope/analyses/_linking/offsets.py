"""Where the answers to questions about words stand, relative to the word.

From it comes the best fixed offset of a relation (Clark et al. 2019, table 1): what position alone
can do. It is chosen on all data, which favours it over the heads, if at all: with few documents
the halves disagree on it, and a baseline chosen on one and scored on the other falls far below
what some offset really scores.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from headscope.analyses._linking.combinations import Ints, combinations
from headscope.analyses._linking.questions import Questions
from headscope.corpus import BUCKETS

FIXED = tuple(offset for offset in range(-5, 6) if offset)
"""The offsets among which the best one is looked for."""


class Offsets:
    """Counts, by label, of the offsets from a word to the words that answer."""

    def __init__(self, clip: bool) -> None:
        self.clip = clip
        self.cases: Counter[tuple[int, ...]] = Counter()  # (bucket, label)
        self.fixed: Counter[tuple[int, ...]] = Counter()  # (bucket, label, place in FIXED)
        self.gold: Counter[tuple[int, ...]] = Counter()  # (label, offset)
        self.edges: Counter[tuple[int, ...]] = Counter()  # (label, offset): room begins or ends

    def count(self, asked: Questions, buckets: Ints, first: Ints, last: Ints) -> None:
        """Count the questions of some texts.

        Args:
            buckets, first, last: (example,) where its evidence goes, its first and last word.
        """
        bucket, label, query = buckets[asked.example], asked.label, asked.query
        begin, end = first[asked.example], last[asked.example]
        self.cases.update(counted(bucket, label))
        self.edges.update(counted(label, begin - query))
        self.edges.subtract(counted(label, end - query + 1))
        self.gold.update(counted(label[asked.case], asked.answer - query[asked.case]))
        for place, offset in enumerate(FIXED):
            guess = query + offset
            if self.clip:
                guess = guess.clip(begin, end)
            right = asked.case[asked.answer == guess[asked.case]]
            there = np.full(len(right), place)
            self.fixed.update(counted(bucket[right], label[right], there))

    def fixed_hits(self, labels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often each fixed offset is right: (bucket, offset, label), of (bucket, label)."""
        hits = np.zeros((BUCKETS, len(FIXED), labels))
        cases = np.zeros((BUCKETS, labels))
        for (bucket, label, place), count in self.fixed.items():
            hits[bucket, place, label] = count
        for (bucket, label), count in self.cases.items():
            cases[bucket, label] = count
        return hits, cases


def best_fixed(hits: NDArray[np.float64]) -> NDArray[np.float64]:
    """(bucket, label) the hits of the offset that is best over all of (bucket, offset, label)."""
    best = hits.sum(0).argmax(0)
    return hits[:, best, np.arange(hits.shape[2])]


def counted(*columns: Ints) -> dict[tuple[int, ...], int]:
    """How often each combination of values occurs.

    >>> counted(np.array([1, 1, 2]), np.array([-5, -5, 0]))
    {(1, -5): 2, (2, 0): 1}
    """
    values, counts = combinations(*columns)
    rows = zip(*(column.tolist() for column in values), strict=True)
    return dict(zip(rows, counts.tolist(), strict=True))
