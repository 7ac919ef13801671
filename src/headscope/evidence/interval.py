"""Intervals and tests from buckets: the delete-one-bucket jackknife of a ratio of sums.

Documents are the unit: a bucket holds whole documents, so that what is left out at a time is
independent of the rest. Intervals use Student's t with the number of non-empty buckets minus one
degrees of freedom; shares are treated on the logit scale, where they cannot leave 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DOUBT = 0.2
"""How often the jackknife may take the place of a known error that is right."""
ENOUGH = 10
"""Non-empty buckets below which no interval is claimed."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, for any number of statistics side by side (...,).

    `low` and `high` are NaN where the documents are too few to claim one.
    """

    value: Floats
    low: Floats
    high: Floats
    n: Floats


def estimate(sums: Floats, counts: Floats, share: bool, level: float = 0.95) -> Estimate:
    """The ratio of sums with its confidence interval.

    Args:
        sums, counts: (bucket, ...) as in a tally.
        share: whether the ratio lies in 0..1 and the interval must too.

    >>> rng = np.random.default_rng(0)
    >>> found = estimate(rng.binomial(10, 0.5, 100).astype(float), np.full(100, 10.0), share=True)
    >>> bool(found.low < 0.5 < found.high)
    True
    """
    value, error, units = jackknife(sums, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = scipy.stats.t.ppf((1 + level) / 2, units - 1) * error
        low, high = value - reach, value + reach
        if share:
            low, high = _share_interval(value, reach, units, level)
    few = units < ENOUGH
    low, high = np.where(few, np.nan, low), np.where(few, np.nan, high)
    return Estimate(value, np.asarray(low), np.asarray(high), counts.sum(0))


def jackknife(sums: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Value, standard error and number of non-empty buckets of a ratio of sums."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sums.sum(0) / counts.sum(0)
        error, units = standard_error(leave_one_out(sums, counts), counts > 0)
    return value, error, units


def leave_one_out(sums: Floats, counts: Floats) -> Floats:
    """(bucket, ...) the ratio of sums without each bucket in turn."""
    return np.asarray((sums.sum(0) - sums) / (counts.sum(0) - counts))


def standard_error(without: Floats, filled: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The jackknife error, and how many buckets have something in them.

    (k-1)/k times the squared deviations of the k values that leave one bucket out.
    """
    units = filled.sum(0).astype(float)
    centre = np.where(filled, without, 0).sum(0) / units
    squares = np.where(filled, (without - centre) ** 2, 0).sum(0)
    return np.sqrt(squares * (units - 1) / units), units


def _share_interval(
    value: Floats, reach: Floats, units: Floats, level: float
) -> tuple[Floats, Floats]:
    """An interval for shares on the logit scale.

    Where every case agrees (0 or 1) no bucket differs from another and the jackknife is silent:
    the bound is then what `units` independent units that all agree can exclude (Clopper and
    Pearson 1934), which is wide on purpose.
    """
    edge = ((1 - level) / 2) ** (1 / units)
    inside = (value > 0) & (value < 1)
    safe = np.where(inside, value, 0.5)
    logit, spread = np.log(safe / (1 - safe)), reach / (safe * (1 - safe))
    low, high = scipy.special.expit(logit - spread), scipy.special.expit(logit + spread)
    low = np.where(inside, low, np.where(value >= 1, edge, 0.0))
    high = np.where(inside, high, np.where(value <= 0, 1 - edge, 1.0))
    return low, high


def difference(
    sums: Floats,
    counts: Floats,
    other_sums: Floats,
    other_counts: Floats,
    known: Floats | float = 0.0,
    *,
    above: bool = False,
) -> tuple[Floats, Floats]:
    """A paired difference of two ratios over the same buckets: value and p.

    Args:
        sums, counts: (bucket, ...) of the one; other_sums, other_counts: of the other.
        known: (...) the standard error if the two were the same in truth and cases independent;
            it is used unless the buckets clearly vary more than that (see `DOUBT`), because few
            cases tell little of their own error. 0 where nothing is known.
        above: ask whether the one is larger (one-sided), not whether the two differ.
    """
    filled = (counts > 0) | (other_counts > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sums.sum(0) / counts.sum(0) - other_sums.sum(0) / other_counts.sum(0)
        without = leave_one_out(sums, counts) - leave_one_out(other_sums, other_counts)
        error, units = standard_error(without, filled)
        free = units - 1
        clustered = error**2 > np.square(known) * scipy.stats.chi2.ppf(1 - DOUBT, free) / free
        distance, sides = (value, 1) if above else (np.abs(value), 2)
        jackknifed = scipy.stats.t.sf(distance / error, free)
        p = sides * np.where(clustered, jackknifed, scipy.stats.norm.sf(distance / known))
    p = np.where(units < ENOUGH, np.nan, p)
    return value, np.asarray(p)


def corrected(p: Floats) -> Floats:
    """Benjamini-Hochberg q-values over all tests; NaN stays NaN and is no test.

    >>> corrected(np.array([0.01, 0.04, np.nan])).tolist()
    [0.02, 0.04, nan]
    """
    q = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = scipy.stats.false_discovery_control(p[tested])
    return q
