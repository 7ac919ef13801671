"""What position alone knows: where answers stand, relative to the word that is asked about.

Two things come from it. The best fixed offset of a relation (Clark et al. 2019, table 1), chosen
on one half of the buckets and scored on the other. And how often, over the whole corpus, the word
at a given offset is an answer where there is such a word: what a head's choice would score if the
answers kept their offsets but not their places, which is what accuracy is tested against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.questions import Ints, Questions
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


def counted(*columns: Ints) -> dict[tuple[int, ...], int]:
    """How often each combination of values occurs.

    >>> counted(np.array([1, 1, 2]), np.array([-5, -5, 0]))
    {(1, -5): 2, (2, 0): 1}
    """
    if not len(columns[0]):
        return {}
    rows, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    return dict(zip(map(tuple, rows.T.tolist()), counts.tolist(), strict=True))


def rates(centres: Sequence[Offsets], labels: int) -> Rates:
    """The counts of several kinds of questions as one table, for looking up."""
    edges = [offset for centre in centres for _, offset in centre.edges]
    reach = max((abs(offset) for offset in edges), default=0) + 1
    gold, room = np.zeros((2, len(centres) * labels, 2 * reach + 1), np.float32)
    for number, centre in enumerate(centres):
        for (label, offset), count in centre.gold.items():
            gold[number * labels + label, offset + reach] = count
        for (label, offset), count in centre.edges.items():
            room[number * labels + label, offset + reach] += count
    return Rates(torch.from_numpy(gold), torch.from_numpy(room.cumsum(1)), reach)


class Rates:
    """How often the word at an offset is an answer, where there is a word.

    Attributes:
        gold, room: (label, offset) counts; reach: where the offset 0 stands.
    """

    def __init__(self, gold: Tensor, room: Tensor, reach: int) -> None:
        self.gold, self.room, self.reach = gold, (room - 1).clamp_min(1), reach

    def of(self, label: Tensor, offset: Tensor, hit: Tensor) -> Tensor:
        """(case, head) the rate over all other cases of the label.

        Args:
            label: (case,); offset, hit: (case, head) the head's choice, and whether it is right
                (the case itself is taken out, or it would count for itself).
        """
        place = (label * self.gold.shape[1] + self.reach)[:, None] + offset
        right = self.gold.to(place.device).take(place) - hit
        return right / self.room.to(place.device).take(place)
