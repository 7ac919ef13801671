"""Counting how often values occur together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def combinations(*columns: Ints) -> tuple[list[Ints], Ints]:
    """The combinations of values that occur, in order, and how often each does.

    One number stands for a combination, which sorts many times faster than rows do.

    >>> values, counts = combinations(np.array([1, 1, 2]), np.array([-5, -5, 0]))
    >>> [value.tolist() for value in values], counts.tolist()
    ([[1, 2], [-5, 0]], [2, 1])
    """
    if not len(columns[0]):
        return [column[:0] for column in columns], np.zeros(0, dtype=np.int64)
    lowest = [int(column.min()) for column in columns]
    sizes = [int(column.max()) - low + 1 for column, low in zip(columns, lowest, strict=True)]
    shifted = tuple(column - low for column, low in zip(columns, lowest, strict=True))
    keys, counts = np.unique(np.ravel_multi_index(shifted, sizes), return_counts=True)
    values = np.unravel_index(keys, sizes)
    return [column + low for column, low in zip(values, lowest, strict=True)], counts
