"""Intervals and tests from buckets: the delete-one-bucket jackknife of a ratio of sums.

A bucket holds whole documents, so that the part left out is independent of the rest. Intervals
use Student's t; its degrees of freedom are the number of non-empty buckets minus one. Intervals
of shares are computed on the logit scale, so that they stay between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALPHA = 0.05
"""A corrected p-value below this is significant."""
ROUNDING = 1e-6
"""Ratios that differ by a smaller share than this differ by rounding: nothing is tested."""
MIN_BUCKETS = 10
"""With fewer non-empty buckets there is no interval and no test."""


@dataclass(frozen=True)
class Margin:
    """How far from a null hypothesis a number may be and still count as nothing.

    Attributes:
        below, above: (...) how far; NaN where it is not known, and nothing can be tested.
        log_odds: whether these are differences of log odds, by which a change of all scores moves
            every share; a share of 0 or 1 has none, and is not tested.
    """

    below: Floats | float = 0.0
    above: Floats | float = 0.0
    log_odds: bool = False

    def around(self, null: Floats) -> tuple[Floats, Floats]:
        """The values between which a number is nothing.

        >>> low, high = Margin(np.log(3), np.log(3), log_odds=True).around(np.array([0.5, 1.0]))
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.25, nan], [0.75, nan])
        """
        from scipy import special

        if not self.log_odds:
            return null - self.below, null + self.above
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = special.logit(np.where((null > 0) & (null < 1), null, np.nan))
        return special.expit(odds - self.below), special.expit(odds + self.above)


NO_MARGIN = Margin()


@dataclass(frozen=True)
class Estimate:
    """Values with their intervals, for any number of statistics side by side (...,).

    `low` and `high` are NaN where there are too few documents for an interval.
    """

    value: Floats
    low: Floats
    high: Floats
    n: Floats


def estimate(sums: Floats, counts: Floats, share: bool, level: float = 0.95) -> Estimate:
    """A ratio of sums with its confidence interval.

    Args:
        sums, counts: (bucket, ...) as in a tally.
        share: whether the ratio and its interval lie between 0 and 1.

    >>> rng = np.random.default_rng(0)
    >>> heads_up = rng.binomial(10, 0.5, 100).astype(float)
    >>> share = estimate(heads_up, np.full(100, 10.0), share=True)
    >>> bool(share.low < 0.5 < share.high)
    True
    """
    from scipy import stats

    value, error, units = jackknife(sums, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        half_width = stats.t.ppf((1 + level) / 2, units - 1) * error
        low, high = value - half_width, value + half_width
        if share:
            low, high = _share_interval(value, half_width, units, level)
    few = units < MIN_BUCKETS
    low, high = np.where(few, np.nan, low), np.where(few, np.nan, high)
    return Estimate(value, np.asarray(low), np.asarray(high), counts.sum(0))


def jackknife(sums: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Value, standard error and number of non-empty buckets for a ratio of sums."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sums.sum(0) / counts.sum(0)
        error, units = standard_error(leave_one_out(sums, counts), counts > 0)
    return value, error, units


def leave_one_out(sums: Floats, counts: Floats) -> Floats:
    """(bucket, ...) the ratio of sums without each bucket in turn."""
    return np.asarray((sums.sum(0) - sums) / (counts.sum(0) - counts))


def standard_error(without: Floats, filled: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The jackknife standard error, and the number of non-empty buckets k.

    The variance is (k-1)/k times the sum of squared deviations of the k leave-one-out values.
    """
    units = filled.sum(0).astype(float)
    centre = np.where(filled, without, 0).sum(0) / units
    squares = np.where(filled, (without - centre) ** 2, 0).sum(0)
    return np.sqrt(squares * (units - 1) / units), units


def _share_interval(
    value: Floats, half_width: Floats, units: Floats, level: float
) -> tuple[Floats, Floats]:
    """An interval for shares on the logit scale.

    A share of exactly 0 or 1 does not vary between buckets, so the jackknife does not apply. The
    bound is then that of `units` independent units that all agree (Clopper and Pearson 1934),
    which is conservative.
    """
    from scipy import special

    edge = ((1 - level) / 2) ** (1 / units)
    inside = (value > 0) & (value < 1)
    safe = np.where(inside, value, 0.5)
    logit, spread = np.log(safe / (1 - safe)), half_width / (safe * (1 - safe))
    low, high = special.expit(logit - spread), special.expit(logit + spread)
    low = np.where(inside, low, np.where(value >= 1, edge, 0.0))
    high = np.where(inside, high, np.where(value <= 0, 1 - edge, 1.0))
    return low, high


def difference_test(
    sums: Floats,
    counts: Floats,
    other_sums: Floats,
    other_counts: Floats,
    null_error: Floats | float = 0.0,
    *,
    above: bool = False,
    margin: Margin = NO_MARGIN,
    share: bool = False,
) -> tuple[Floats, Floats]:
    """The paired difference of two ratios over the same buckets, and its p-value.

    The standard error is that of the jackknife or that of the null hypothesis, whichever is
    larger: few cases say little about their own variance, and cases of one document are alike.
    That of a share is the jackknife's as it would be under the null hypothesis: documents that
    happen to lie near 0 or 1 vary too little.

    Args:
        sums, counts: (bucket, ...) of the first ratio; other_sums, other_counts: of the second.
        null_error: (...) the standard error under the null hypothesis with independent cases; 0
            if unknown.
        above: test one-sided whether the first ratio is larger.
        margin: how far from the second it may be under the null hypothesis.
        share: whether the ratios lie between 0 and 1.
    """
    from scipy import stats

    filled = (counts > 0) | (other_counts > 0)
    units = filled.sum(0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        first, other = sums.sum(0) / counts.sum(0), other_sums.sum(0) / other_counts.sum(0)
        without = leave_one_out(sums, counts)
        limits = margin.around(other), margin.around(leave_one_out(other_sums, other_counts))
        tails, errors = [], []
        for sign, limit, left in zip((-1, 1), *limits, strict=True):
            error, _ = standard_error(without - left, filled)
            error = np.maximum(_error_at(limit, first, error) if share else error, null_error)
            tail = stats.t.sf(sign * (first - limit) / error, units - 1)
            tails.append(np.maximum(tail, _all_alike(first, limit, units, sign) if share else 0.0))
            errors.append(error)
        value = first - other
        p = tails[1] if above else np.minimum(1.0, 2 * np.minimum(*tails))
    error = np.maximum(*errors)
    largest = np.maximum(np.abs(value), np.nan_to_num(error))  # in total, and from bucket to bucket
    rounding = largest <= ROUNDING * np.maximum(np.abs(first), np.abs(other))
    p = np.where((units < MIN_BUCKETS) | rounding, np.nan, p)
    return value, np.asarray(p)


def _error_at(limit: Floats, share: Floats, error: Floats) -> Floats:
    """The standard error that a share would have at a limit, or its own, whichever is larger.

    Documents of a kind make the variance a multiple of that of independent cases, which is
    proportional to share * (1 - share); the multiple is taken to be the same at the limit.
    """
    inside = (share > 0) & (share < 1)
    own, there = (np.clip(part, 0, 1) * (1 - np.clip(part, 0, 1)) for part in (share, limit))
    ratio = np.where(inside, np.sqrt(there / np.where(inside, own, 1)), 1)
    return np.asarray(error * np.fmax(ratio, 1))


def _all_alike(first: Floats, limit: Floats, units: Floats, sign: int) -> Floats:
    """How likely it is that `units` independent units all agree where the share is `limit`.

    A share of exactly 0 or 1 does not vary between buckets, so the jackknife does not apply.
    """
    edge, chance = (1.0, limit) if sign > 0 else (0.0, 1 - limit)
    return np.where(first == edge, np.clip(chance, 0, 1) ** units, 0.0)


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini-Hochberg q-values over all tests; NaN stays NaN and is not counted as a test.

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan])).tolist()
    [0.02, 0.04, nan]
    """
    from scipy import stats

    q = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = stats.false_discovery_control(p[tested])
    return q
