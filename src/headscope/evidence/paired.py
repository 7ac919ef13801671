"""Paired comparison of two sets of predictions on the same examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.metrics import ACCURACY, Metric, MetricKind

Floats = NDArray[np.float64]
NUM_RESAMPLES = 1000
"""Number of bootstrap resamples."""
CHUNK = 1 << 22
"""Maximum number of weights per step, a bound on memory."""
SWAPS = 19_999
"""Draws of the randomization test; its smallest possible p is 1 / (SWAPS + 1)."""


@dataclass(frozen=True)
class Effect:
    """The paired difference of a metric: changed minus intact.

    Attributes:
        value: the metric of the changed predictions.
        delta: the difference.
        low, high: the bootstrap interval of the difference; for classes, at least as wide as it
            would be if no prediction had changed.
        error: the bootstrap standard error of the difference.
        changed: number of predictions that differ.
        step: for classes, the most that one more changed prediction can move the metric; else 0.
    """

    value: float
    delta: float
    low: float
    high: float
    error: float
    changed: int
    step: float


class Resamples:
    """Bootstrap resamples of examples, drawn once, so that all comparisons are paired.

    Examples of one unit (a document) are drawn together.

    >>> resamples = Resamples(["a", "a", "b"], times=2)
    >>> bool((resamples.weights[:, 0] == resamples.weights[:, 1]).all())
    True
    """

    def __init__(self, units: Sequence[str], times: int = NUM_RESAMPLES, seed: int = 0) -> None:
        names, member = np.unique(np.array(units), return_inverse=True)
        self.independent = len(names) == len(units)
        random = np.random.default_rng(seed)
        drawn = random.multinomial(len(names), np.full(len(names), 1 / len(names)), size=times)
        self.weights: Floats = drawn[:, member].astype(float)

    def metric(self, metric: Metric, predictions: Floats, gold: Floats) -> Floats:
        """(resample,) the metric on each resample."""
        step = max(1, CHUNK // max(1, len(gold)))
        parts = [
            metric.weighted(predictions, gold, self.weights[start : start + step])
            for start in range(0, len(self.weights), step)
        ]
        return np.concatenate(parts)

    def interval(
        self, metric: Metric, predictions: Floats, gold: Floats
    ) -> tuple[float, float, float]:
        """The bounds of the 95% interval of a metric, and its standard error."""
        values = self.metric(metric, predictions, gold)
        low, high = np.quantile(values, [0.025, 0.975])
        return float(low), float(high), float(values.std(ddof=1))


@dataclass(frozen=True)
class Paired:
    """Predictions of the intact model, with which others are compared.

    >>> gold = np.array([1.0, 0, 1, 0] * 10)
    >>> paired = Paired.of(ACCURACY, gold, gold, Resamples([str(i) for i in range(40)]))
    >>> paired.effect(np.ones(40)).delta
    -0.5
    """

    metric: Metric
    intact: Floats
    gold: Floats
    resamples: Resamples
    drawn: Floats
    step: float

    @classmethod
    def of(cls, metric: Metric, intact: Floats, gold: Floats, resamples: Resamples) -> Paired:
        """Prepare comparisons with these predictions."""
        drawn = resamples.metric(metric, intact, gold)
        step = largest_step(metric, intact, gold) if metric.kind is MetricKind.CLASSES else 0.0
        return cls(metric, intact, gold, resamples, drawn, step)

    def effect(self, changed: Floats, confidence: float = 0.95) -> Effect:
        """The effect on the metric of changed predictions."""
        value = self.metric(changed, self.gold)
        delta = value - self.metric(self.intact, self.gold)
        differs = changed != self.intact
        differ = int((differs if differs.ndim == 1 else differs.any(-1)).sum())
        tail = (1 - confidence) / 2
        least = -math.log(tail) * self.step
        if not differ:
            return Effect(value, 0.0, -least, least, 0.0, 0, self.step)
        deltas = self.resamples.metric(self.metric, changed, self.gold) - self.drawn
        low, high = (float(bound) for bound in np.quantile(deltas, [tail, 1 - tail]))
        error = float(deltas.std(ddof=1))
        low, high = min(low, delta - least), max(high, delta + least)
        return Effect(value, delta, low, high, error, differ, self.step)

    def p(self, changed: Floats, effect: Effect) -> float:
        """The two-sided p-value of no difference.

        For classes and independent examples, the exact sign test (accuracy) or a randomization
        test (other metrics); otherwise a z-test with the effect's standard error.
        """
        if self.metric.kind is MetricKind.CLASSES and self.resamples.independent:
            if self.metric is not ACCURACY:
                return randomization_test(self.metric, self.intact, changed, self.gold)
            right, before = changed == self.gold, self.intact == self.gold
            gained, lost = int((right & ~before).sum()), int((before & ~right).sum())
            return sign_test(gained, lost)
        if effect.error == 0.0:
            return 1.0
        from scipy import stats

        return float(2 * stats.norm.sf(abs(effect.delta) / effect.error))


def largest_step(metric: Metric, predictions: Floats, gold: Floats) -> float:
    """The largest change of a metric when one predicted class changes.

    >>> round(largest_step(ACCURACY, np.array([1.0, 0, 1, 1]), np.ones(4)), 3)
    0.25
    """
    classes = np.unique(np.concatenate([predictions, gold, [0.0, 1.0]]))
    sides, golds = (grid.ravel() for grid in np.meshgrid(classes, classes, indexing="ij"))
    cells = zip(sides, golds, strict=True)
    counts = np.array([((predictions == p) & (gold == g)).sum() for p, g in cells], dtype=float)
    moved = [
        counts - (np.arange(len(counts)) == place) + (np.arange(len(counts)) == other)
        for place in np.flatnonzero(counts)
        for other in np.flatnonzero(golds == golds[place])
        if other != place
    ]
    values = metric.formula(sides, golds, np.array([counts, *moved]))
    return float(np.abs(values[1:] - values[0]).max())


def sign_test(wins: int, losses: int) -> float:
    """The exact two-sided p-value of wins and losses if both are equally likely.

    >>> round(sign_test(6, 0), 5)
    0.03125
    """
    from scipy import stats

    return min(1.0, float(2 * stats.binom.cdf(min(wins, losses), wins + losses, 0.5)))


def randomization_test(metric: Metric, intact: Floats, changed: Floats, gold: Floats) -> float:
    """The two-sided p-value of a paired randomization test between two sets of classes.

    Under the null hypothesis the two predictions for an example are exchangeable, so they are
    swapped at random (Yeh 2000, for F1). The number of swaps among examples with the same
    predictions and gold is binomial, so that the cost does not grow with the number of examples.

    >>> from headscope.evidence.metrics import F1
    >>> gold = np.array([1.0, 0.0] * 50)
    >>> randomization_test(F1, gold, np.where(np.arange(100) < 8, 1 - gold, gold), gold) < 0.02
    True
    """
    cells, counts = np.unique(np.stack([intact, changed, gold]), axis=1, return_counts=True)
    swapped = np.random.default_rng(0).binomial(counts, 0.5, size=(SWAPS, len(counts)))
    stayed = counts - swapped
    sides = np.concatenate([cells[0], cells[1]])
    golds = np.concatenate([cells[2], cells[2]])
    first = metric.formula(sides, golds, np.hstack([stayed, swapped]).astype(float))
    second = metric.formula(sides, golds, np.hstack([swapped, stayed]).astype(float))
    observed = abs(metric(changed, gold) - metric(intact, gold))
    as_large = int((np.abs(first - second) >= observed - 1e-12).sum())
    return (1 + as_large) / (1 + SWAPS)
