"""A bounded store of examples to display, selected independently of their content.

The `size` examples with the lowest hash of their id are kept. Each shard selects for itself, and
merging gives the selection that a single pass over the corpus would have made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Exemplar:
    """An example with what the heads do on it.

    Attributes:
        rank: low ranks are kept; normally a hash of the id.
        record: data on the text, for JSON.
        arrays: what the heads do on it, by name; the first two axes are layer and head.
    """

    rank: int
    id: str
    record: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class Exemplars:
    """The `size` exemplars with the lowest ranks.

    >>> store = Exemplars(size=1)
    >>> for rank in (5, 3, 4):
    ...     store.offer(Exemplar(rank, f"s{rank}", record={}))
    >>> [exemplar.id for exemplar in store]
    ['s3']
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[Exemplar] = []

    def __iter__(self) -> Iterator[Exemplar]:
        return iter(self.kept)

    def offer(self, exemplar: Exemplar) -> None:
        """Keep an exemplar if its rank is low enough."""
        ranked = sorted([*self.kept, exemplar], key=lambda kept: (kept.rank, kept.id))
        self.kept = ranked[: self.size]

    def merge(self, other: Exemplars) -> None:
        """Add the exemplars of another shard."""
        for exemplar in other.kept:
            self.offer(exemplar)
