"""Rank correlation over heads, with its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 2000
"""Number of bootstrap resamples."""
FLAT = 1e-12
"""Values whose range is smaller than this, relative to their size, are constant."""


class Correlation(NamedTuple):
    """Spearman's correlation over `n` heads, with the bounds of its 95% interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return (
            f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}] over {self.n} heads "
            "(bootstrap over heads)"
        )


def rank_correlation(x: Floats, y: Floats) -> Correlation | None:
    """Spearman's correlation with a bootstrap interval over its points; None if x or y is constant.

    >>> rank_correlation(np.arange(9.0), np.arange(9.0))
    Correlation(value=1.0, low=1.0, high=1.0, n=9)
    >>> rank_correlation(np.arange(9.0), np.zeros(9)) is None
    True
    """
    from scipy.stats import spearmanr

    if any(np.ptp(side) <= FLAT * max(1.0, float(np.abs(side).max())) for side in (x, y)):
        return None
    random = np.random.default_rng(0)
    resampled = []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(x), len(x))
        if np.ptp(x[drawn]) and np.ptp(y[drawn]):
            resampled.append(spearmanr(x[drawn], y[drawn]).statistic)
    low, high = (round(float(bound), 9) for bound in np.quantile(resampled, [0.025, 0.975]))
    return Correlation(round(float(spearmanr(x, y).statistic), 9), low, high, len(x))
