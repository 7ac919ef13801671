"""Batches of examples of similar length, within a budget of tokens and of attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The maximum size of a batch.

    Attributes:
        tokens: maximum number of tokens including padding (the cost of the linear layers).
        area: maximum of batch size x length squared (the cost of the attention maps).

    A batch of one example is always allowed, however long the example.
    """

    tokens: int = 2048
    area: int = 1 << 19

    def holds(self, examples: int, length: int) -> bool:
        """Whether a batch of `examples` examples, padded to `length`, is within the budget.

        >>> Budget(tokens=100).holds(3, 40)
        False
        """
        fits = examples * length <= self.tokens and examples * length**2 <= self.area
        return fits or examples == 1


def plan_batches(
    lengths: Sequence[int | tuple[int, ...]], budget: Budget, *, padded: bool = True
) -> list[list[int]]:
    """Group examples of similar length into batches; returns their positions, shortest first.

    Args:
        lengths: of the examples; of a text and its translation, both.
        padded: whether examples of different length may be in one batch.

    >>> plan_batches([5, 90, 6, 5], Budget(tokens=100))
    [[0, 3, 2], [1]]
    >>> plan_batches([(5, 4), (5, 3), (5, 4)], Budget(tokens=100), padded=False)
    [[1], [0, 2]]
    """
    sizes = [each if isinstance(each, tuple) else (each,) for each in lengths]
    batches: list[list[int]] = []
    for position in sorted(
        range(len(sizes)), key=lambda index: (max(sizes[index]), sizes[index], index)
    ):
        even = bool(batches) and sizes[batches[-1][-1]] == sizes[position]
        room = batches and budget.holds(len(batches[-1]) + 1, max(sizes[position]))
        if room and (padded or even):
            batches[-1].append(position)
        else:
            batches.append([position])
    return batches
