"""Rank correlation over heads, with its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TIMES = 2000
FLAT = 1e-12
"""What differs by less, relative to its size, does not differ."""


class Correlation(NamedTuple):
    """Spearman's correlation over some heads, with the bounds of its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return (
            f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}] over {self.n} heads "
            "(bootstrap over heads)"
        )


def rank_correlation(one: Floats, other: Floats) -> Correlation | None:
    """Spearman's correlation with a bootstrap interval over its points; None where one is flat.

    >>> rank_correlation(np.arange(9.0), np.arange(9.0))
    Correlation(value=1.0, low=1.0, high=1.0, n=9)
    >>> rank_correlation(np.arange(9.0), np.zeros(9)) is None
    True
    """
    if any(np.ptp(part) <= FLAT * max(1.0, float(np.abs(part).max())) for part in (one, other)):
        return None
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(TIMES):
        places = random.integers(0, len(one), len(one))
        if np.ptp(one[places]) and np.ptp(other[places]):
            drawn.append(scipy.stats.spearmanr(one[places], other[places]).statistic)
    low, high = (round(float(bound), 9) for bound in np.quantile(drawn, [0.025, 0.975]))
    return Correlation(
        round(float(scipy.stats.spearmanr(one, other).statistic), 9), low, high, len(one)
    )
