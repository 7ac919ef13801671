"""Two sets of predictions on the same examples: is one better, by how much, how sure is it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from headscope.evidence.metrics import ACCURACY, Kind, Metric

Floats = NDArray[np.float64]
TIMES = 1000
"""Resamples of a bootstrap."""
CHUNK = 1 << 22
"""Weights that are held at a time."""
SWAPS = 19_999
"""Draws of a randomization test; its smallest p is one in so many and one."""


@dataclass(frozen=True)
class Effect:
    """The paired difference of a metric: changed minus intact.

    Attributes:
        value: the metric of the changed predictions.
        low, high: the bootstrap's interval; where predictions are classes, never narrower than
            what as many examples without a single change would leave open.
        error: the bootstrap's standard error of the difference.
        changed: how many predictions differ.
        step: the most that one more changed prediction can move the metric, where predictions
            are classes; else 0.
    """

    value: float
    delta: float
    low: float
    high: float
    error: float
    changed: int
    step: float


class Resamples:
    """Resamples of the same examples, drawn once, so that everything is compared in pairs.

    Examples of one unit (a document) are drawn together.

    >>> made = Resamples(["a", "a", "b"], times=2)
    >>> bool((made.weights[:, 0] == made.weights[:, 1]).all())
    True
    """

    def __init__(self, units: Sequence[str], times: int = TIMES, seed: int = 0) -> None:
        names, member = np.unique(np.array(units), return_inverse=True)
        self.independent = len(names) == len(units)
        random = np.random.default_rng(seed)
        drawn = random.multinomial(len(names), np.full(len(names), 1 / len(names)), size=times)
        self.weights: Floats = drawn[:, member].astype(float)

    def metric(self, metric: Metric, predictions: Floats, gold: Floats) -> Floats:
        """(resample,) the metric on each resample."""
        step = max(1, CHUNK // max(1, len(gold)))
        parts = [
            metric.formula(predictions, gold, self.weights[start : start + step])
            for start in range(0, len(self.weights), step)
        ]
        return np.concatenate(parts)

    def interval(
        self, metric: Metric, predictions: Floats, gold: Floats
    ) -> tuple[float, float, float]:
        """The bounds of a 95% interval of a metric, and its standard error."""
        found = self.metric(metric, predictions, gold)
        low, high = np.quantile(found, [0.025, 0.975])
        return float(low), float(high), float(found.std(ddof=1))


@dataclass(frozen=True)
class Paired:
    """An intact set of predictions that others are compared with.

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
        """Compare with these predictions."""
        drawn = resamples.metric(metric, intact, gold)
        step = largest_step(metric, intact, gold) if metric.kind is Kind.CLASSES else 0.0
        return cls(metric, intact, gold, resamples, drawn, step)

    def effect(self, changed: Floats, confidence: float = 0.95) -> Effect:
        """How much the metric differs when these predictions take the place of the intact."""
        value = self.metric(changed, self.gold)
        delta = value - self.metric(self.intact, self.gold)
        differ = int((changed != self.intact).sum())
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
        """The two-sided p of no difference.

        Where predictions are classes and examples independent: the exact sign test for accuracy,
        a randomization test for other metrics; else from the effect's error.
        """
        if self.metric.kind is Kind.CLASSES and self.resamples.independent:
            if self.metric is not ACCURACY:
                return randomization_test(self.metric, self.intact, changed, self.gold)
            right, before = changed == self.gold, self.intact == self.gold
            won, lost = int((right & ~before).sum()), int((before & ~right).sum())
            return sign_test(won, lost)
        if effect.error == 0.0:
            return 1.0
        return float(2 * scipy.stats.norm.sf(abs(effect.delta) / effect.error))


def largest_step(metric: Metric, predictions: Floats, gold: Floats) -> float:
    """The most that a metric of classes moves when one prediction becomes another class.

    >>> round(largest_step(ACCURACY, np.array([1.0, 0, 1, 1]), np.ones(4)), 3)
    0.25
    """
    classes = np.unique(np.concatenate([predictions, gold, [0.0, 1.0]]))
    sides, golds = (some.ravel() for some in np.meshgrid(classes, classes, indexing="ij"))
    counts = np.array([((predictions == one) & (gold == other)).sum()
                       for one, other in zip(sides, golds, strict=True)], dtype=float)  # fmt: skip
    moved = [
        counts - (np.arange(len(counts)) == place) + (np.arange(len(counts)) == other)
        for place in np.flatnonzero(counts)
        for other in np.flatnonzero(golds == golds[place])
        if other != place
    ]
    found = metric.formula(sides, golds, np.array([counts, *moved]))
    return float(np.abs(found[1:] - found[0]).max())


def sign_test(won: int, lost: int) -> float:
    """The exact two-sided p of so many wins and losses, were both as likely.

    >>> round(sign_test(6, 0), 5)
    0.03125
    """
    return min(1.0, float(2 * scipy.stats.binom.cdf(min(won, lost), won + lost, 0.5)))


def randomization_test(metric: Metric, intact: Floats, changed: Floats, gold: Floats) -> float:
    """The two-sided p of a difference between two sets of classes, were it chance which of the
    two gave which prediction: the predictions of an example change sides by the toss of a coin
    (Yeh 2000, for F1).

    Examples with the same predictions and gold are drawn together: how many of them change sides
    is binomial, so it costs the same however many there are.

    >>> from headscope.evidence.metrics import F1
    >>> gold = np.array([1.0, 0.0] * 50)
    >>> randomization_test(F1, gold, np.where(np.arange(100) < 8, 1 - gold, gold), gold) < 0.02
    True
    """
    kinds, counts = np.unique(np.stack([intact, changed, gold]), axis=1, return_counts=True)
    swapped = np.random.default_rng(0).binomial(counts, 0.5, size=(SWAPS, len(counts)))
    stayed = counts - swapped
    sides = np.concatenate([kinds[0], kinds[1]])
    golds = np.concatenate([kinds[2], kinds[2]])
    first = metric.formula(sides, golds, np.hstack([stayed, swapped]).astype(float))
    second = metric.formula(sides, golds, np.hstack([swapped, stayed]).astype(float))
    found = abs(metric(changed, gold) - metric(intact, gold))
    as_large = int((np.abs(first - second) >= found - 1e-12).sum())
    return (1 + as_large) / (1 + SWAPS)
