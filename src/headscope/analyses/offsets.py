"""What position alone knows: where answers stand, relative to the word that is asked about.

Two things come from it. The best fixed offset of a relation (Clark et al. 2019, table 1), chosen
on one half of the buckets and scored on the other. And how often, over the whole corpus, the word
at a given offset is an answer where there is such a word: what a head's choice would score if the
answers kept their offsets but not their places, which is what accuracy is tested against.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import BUCKETS

FIXED = tuple(offset for offset in range(-5, 6) if offset)
"""The offsets among which the best one is looked for."""


class Offsets:
    """Counts, by label, of the offsets from a word to the words that answer."""

    def __init__(self, clip: bool) -> None:
        self.clip = clip
        self.cases: Counter[tuple[int, int]] = Counter()  # (bucket, label)
        self.fixed: Counter[tuple[int, int, int]] = Counter()  # (bucket, label, place in FIXED)
        self.gold: Counter[tuple[int, int]] = Counter()  # (label, offset)
        self.edges: Counter[tuple[int, int]] = Counter()  # (label, offset): room begins or ends

    def count(self, bucket: int, label: int, query: int, gold: list[int], last: int) -> None:
        """One question: the word at `query`, answered by `gold`, in a text from 0 to `last`."""
        self.cases[bucket, label] += 1
        self.edges[label, -query] += 1
        self.edges[label, last - query + 1] -= 1
        for answer in gold:
            self.gold[label, answer - query] += 1
        for place, offset in enumerate(FIXED):
            guess = query + offset
            if self.clip:
                guess = min(max(guess, 0), last)
            if guess in gold:
                self.fixed[bucket, label, place] += 1

    def fixed_hits(self, labels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often each fixed offset is right: (bucket, offset, label), of (bucket, label)."""
        hits = np.zeros((BUCKETS, len(FIXED), labels))
        cases = np.zeros((BUCKETS, labels))
        for (bucket, label, place), count in self.fixed.items():
            hits[bucket, place, label] = count
        for (bucket, label), count in self.cases.items():
            cases[bucket, label] = count
        return hits, cases

    def tables(self, labels: int) -> Rates:
        """The counts as tables, for looking up."""
        reach = max((abs(offset) for _, offset in self.edges), default=0) + 1
        gold, room = np.zeros((2, labels, 2 * reach + 1))
        for (label, offset), count in self.gold.items():
            gold[label, offset + reach] = count
        for (label, offset), count in self.edges.items():
            room[label, offset + reach] += count
        return Rates(torch.from_numpy(gold), torch.from_numpy(room.cumsum(1)), reach)


class Rates:
    """How often the word at an offset is an answer, where there is a word."""

    def __init__(self, gold: Tensor, room: Tensor, reach: int) -> None:
        self.gold, self.room, self.reach = gold, room, reach

    def of(self, label: Tensor, offset: Tensor, hit: Tensor) -> Tensor:
        """(case, head) the rate over all other cases of the label.

        Args:
            label: (case,); offset, hit: (case, head) the head's choice, and whether it is right
                (the case itself is taken out, or it would count for itself).
        """
        place = offset + self.reach
        right = self.gold.to(place.device)[label[:, None], place] - hit
        return right / (self.room.to(place.device)[label[:, None], place] - 1).clamp_min(1)
