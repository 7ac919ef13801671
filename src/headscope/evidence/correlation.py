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
    if any(np.ptp(side) <= FLAT * max(1.0, float(np.abs(side).max())) for side in (x, y)):
        return None
    drawn = np.random.default_rng(0).integers(0, len(x), (RESAMPLES, len(x)))
    resampled = _spearman(x[drawn], y[drawn])
    low, high = (round(float(bound), 9) for bound in np.nanquantile(resampled, [0.025, 0.975]))
    return Correlation(round(float(_spearman(x[None], y[None])[0]), 9), low, high, len(x))


def _spearman(x: Floats, y: Floats) -> Floats:
    """(row,) Spearman's correlation of the rows of (row, point); NaN where one is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(side, axis=1) for side in (x, y)]
    first, second = (side - side.mean(1, keepdims=True) for side in ranks)
    size = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    with np.errstate(invalid="ignore"):
        return np.asarray((first * second).sum(1) / size)
