"""A bounded store of examples that a person will want to see, chosen without regard to content.

The `size` examples whose ids hash lowest are kept: every shard can choose for itself, and what
is left after merging is what one look over the whole corpus would have chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Exemplar:
    """One example with what the heads do on it.

    Attributes:
        rank: the hash of its id; low ranks are kept.
        record: what is known of the text, as JSON would have it.
        arrays: what every head does on it, by name; the first two axes are layer and head.
    """

    rank: int
    id: str
    record: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class Exemplars:
    """The exemplars with the lowest ranks.

    >>> store = Exemplars(size=1)
    >>> for rank in (5, 3, 4):
    ...     store.offer(Exemplar(rank, f"s{rank}", record={}))
    >>> [one.id for one in store]
    ['s3']
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[Exemplar] = []

    def __iter__(self) -> Iterator[Exemplar]:
        return iter(self.kept)

    def offer(self, exemplar: Exemplar) -> None:
        """Keep an exemplar if its rank is low enough."""
        self.kept = sorted([*self.kept, exemplar], key=lambda one: (one.rank, one.id))[: self.size]

    def merge(self, other: Exemplars) -> None:
        """Take in another shard's exemplars."""
        for exemplar in other.kept:
            self.offer(exemplar)
