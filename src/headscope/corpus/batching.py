"""Batches of like length, under a budget that bounds tokens and batch x length squared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """How large a batch may be.

    Attributes:
        tokens: at most this many tokens, padding counted (what the layers' matrices cost).
        area: at most this much batch x length squared (what the attention maps cost).

    A single example is always allowed, however long.
    """

    tokens: int = 2048
    area: int = 1 << 19

    def holds(self, examples: int, length: int) -> bool:
        """Whether a batch of so many examples, padded to `length`, stays within the budget.

        >>> Budget(tokens=100).holds(3, 40)
        False
        """
        fits = examples * length <= self.tokens and examples * length**2 <= self.area
        return fits or examples == 1


def plan(lengths: Sequence[int], budget: Budget) -> list[list[int]]:
    """Split examples into batches of like length; returns positions, shortest batches first.

    >>> plan([5, 90, 6, 5], Budget(tokens=100))
    [[0, 3, 2], [1]]
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: (lengths[place], place)):
        if batches and budget.holds(len(batches[-1]) + 1, lengths[place]):
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches
