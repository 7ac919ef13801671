"""A bounded store of examples that a person will want to see, chosen without regard to content.

The `size` examples whose ids hash lowest are kept: every shard can choose for itself, and what
is left after merging is what one look over the whole corpus would have chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Exemplar:
    """One example with the attention of every head on it.

    Attributes:
        rank: the hash of its id; low ranks are kept.
        maps: (layer, head, query, key) uint8, 255 for a weight of 1.
    """

    rank: int
    id: str
    tokens: tuple[str, ...]
    maps: NDArray[np.uint8]


class Exemplars:
    """The exemplars with the lowest ranks.

    >>> store = Exemplars(size=1)
    >>> for rank in (5, 3, 4):
    ...     store.offer(Exemplar(rank, f"s{rank}", (), np.zeros((1, 1, 0, 0), np.uint8)))
    >>> [one.id for one in store]
    ['s3']
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[Exemplar] = []

    def __iter__(self) -> Iterator[Exemplar]:
        return iter(self.kept)

    def wants(self, rank: int) -> bool:
        """Whether an example of this rank would be kept."""
        return len(self.kept) < self.size or rank < self.kept[-1].rank

    def offer(self, exemplar: Exemplar) -> None:
        """Keep an exemplar if its rank is low enough."""
        self.kept = sorted([*self.kept, exemplar], key=lambda one: (one.rank, one.id))[: self.size]

    def merge(self, other: Exemplars) -> None:
        """Take in another shard's exemplars."""
        for exemplar in other.kept:
            self.offer(exemplar)
