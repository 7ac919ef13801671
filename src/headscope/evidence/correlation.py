"""Rank correlation over heads, with an interval that respects layers.

Heads of one layer are alike: often half of the variance of a number lies between layers, and then
72 heads of 6 layers say little more than 6 observations do. Layers are what varies independently,
so the interval is a jackknife over layers: on Fisher's z, where the distribution is nearly normal,
with Student's t of as many degrees of freedom as there are layers but one. `bench/correlations.py`
simulates how often it covers the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.evidence.interval import standard_error

Floats = NDArray[np.float64]
MIN_LAYERS = 6
"""With fewer layers there is no interval: it would cover less than 93% in some simulations."""
FLAT = 1e-12
"""Values whose range is smaller than this, relative to their size, are constant."""


class Correlation(NamedTuple):
    """Spearman's correlation over heads, with the bounds of its 95% interval.

    `low` and `high` are None where the layers allow no interval.

    >>> print(Correlation(0.42, 0.11, 0.66, heads=72, layers=6))
    +0.42 [+0.11, +0.66] over 72 heads (interval over 6 layers)
    >>> print(Correlation(0.42, None, None, heads=24, layers=2))
    +0.42 over 24 heads (no interval: fewer than 6 layers)
    """

    value: float
    low: float | None
    high: float | None
    heads: int
    layers: int

    @property
    def sure(self) -> bool:
        """Whether there is an interval and it excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def interval(self) -> str:
        """The interval as text, or why there is none."""
        if self.low is not None and self.high is not None:
            return f"[{self.low:+.2f}, {self.high:+.2f}]"
        few = self.layers < MIN_LAYERS
        reason = f"fewer than {MIN_LAYERS} layers" if few else "heads of one layer alone differ"
        return f"no interval: {reason}"

    def __str__(self) -> str:
        over = f"over {self.heads} heads"
        if self.low is None:
            return f"{self.value:+.2f} {over} ({self.interval})"
        return f"{self.value:+.2f} {self.interval} {over} (interval over {self.layers} layers)"


def rank_correlation(
    x: Floats, y: Floats, layers: ArrayLike, min_layers: int = MIN_LAYERS
) -> Correlation | None:
    """Spearman's correlation with an interval over layers; None if x or y is constant, or empty.

    Args:
        x, y: (head,) two numbers of every head.
        layers: (head,) the layer of every head; layers of different stacks need different names.
        min_layers: with fewer layers there is no interval.

    >>> layers = np.repeat(np.arange(6), 4)
    >>> x = np.random.default_rng(0).normal(size=24)
    >>> print(rank_correlation(x, x**3 + layers, layers))
    +0.40 [-0.29, +0.82] over 24 heads (interval over 6 layers)
    >>> rank_correlation(x, np.zeros(24), layers) is None
    True
    """
    if not len(x) or _constant(x) or _constant(y):
        return None
    names, layer = np.unique(layers, return_inverse=True)
    value = _spearman(x, y)
    without = [_spearman(x[layer != one], y[layer != one]) for one in range(len(names))]
    known = len(names) >= min_layers and not np.isnan(without).any()
    low, high = _interval(value, np.array(without)) if known else (None, None)
    return Correlation(round(value, 9), low, high, len(x), len(names))


def _constant(values: Floats) -> bool:
    return bool(np.ptp(values) <= FLAT * max(1.0, float(np.abs(values).max())))


def _interval(value: float, without: Floats) -> tuple[float, float]:
    """The bounds of a correlation's 95% interval, by a jackknife.

    Args:
        without: (layer,) the correlation without the heads of each layer.
    """
    from scipy import stats

    layers = len(without)
    z, left = _fisher(np.array(value)), _fisher(without)
    error, _ = standard_error(left, np.full(layers, fill_value=True))
    half_width = stats.t.ppf(0.975, layers - 1) * error
    low, high = (round(float(np.tanh(bound)), 9) for bound in (z - half_width, z + half_width))
    return low, high


def _fisher(correlation: Floats) -> Floats:
    """Fisher's z; that of a correlation of 1, which has none, is as large as numbers allow."""
    largest = 1 - np.finfo(float).eps
    return np.arctanh(np.clip(correlation, -largest, largest))


def _spearman(x: Floats, y: Floats) -> float:
    """Spearman's correlation; NaN if x or y is constant."""
    from scipy.stats import rankdata

    first, second = (ranks - ranks.mean() for ranks in (rankdata(x), rankdata(y)))
    size = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / size) if size else np.nan
