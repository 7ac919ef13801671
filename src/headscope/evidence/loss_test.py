"""One-sided paired test that a metric loses no more than is allowed.

The null hypothesis is that changed predictions lose more of a metric than allowed on the population
that the examples come from. It is rejected only where the data rule that out, so that what remains
is a promise (Angelopoulos et al. 2021, "Learn then Test").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.interval import standard_error
from headscope.evidence.metrics import ACCURACY, Metric, MetricKind
from headscope.evidence.paired import CHUNK, largest_step

Floats = NDArray[np.float64]
GROUPS = 200
"""Most parts of the jackknife."""
MIN_UNITS = 30
"""With fewer independent examples a test that is not exact rejects nothing."""
RATES = 128
"""Rates of gains over which the exact test takes its maximum."""
REACH = 9.0
"""Standard deviations of a count beyond which its probability is left out (below 1e-15)."""


@dataclass(frozen=True)
class LossEstimate:
    """What changed predictions lose, and whether it could be more than is allowed.

    Attributes:
        loss: of the metric, positive where it is worse.
        error: the standard error that the loss would have if it were what is allowed.
        p: of the null hypothesis that the loss exceeds what is allowed.
    """

    loss: float
    error: float
    p: float


@dataclass(frozen=True)
class LossTest:
    """Tests of changed predictions against those of an intact model, on the same examples.

    For accuracy on independent examples the test is exact; for other metrics, and for examples that
    come in documents, it is a t-test with the jackknife's standard error, which is approximate.

    Attributes:
        intact, gold: (example, ...) as in a metric.
        units: (example,) the document of each example: the independent unit.

    >>> gold = np.ones(300)
    >>> test = LossTest(ACCURACY, gold, gold, [str(number) for number in range(300)])
    >>> round(test(gold, allowed=0.01).p, 4), round(0.99**300, 4)
    (0.049, 0.049)
    """

    metric: Metric
    intact: Floats
    gold: Floats
    units: Sequence[str]

    def __call__(self, changed: Floats, allowed: float) -> LossEstimate:
        """The loss by changed predictions, and the p-value that it exceeds what is allowed."""
        from scipy import stats

        loss = self.metric.better * (self._value - self.metric(changed, self.gold))
        error = max(self._jackknife(changed), math.sqrt(allowed * self._step))
        if self.exact:
            before, after = self.intact == self.gold, changed == self.gold
            counts = int((before & ~after).sum()), int((after & ~before).sum())
            return LossEstimate(loss, error, exact_p(*counts, len(self.gold), allowed))
        if self.num_units < MIN_UNITS:
            return LossEstimate(loss, error, 1.0)
        if error == 0.0:  # no score changed: as if of those that change, each moved the metric by 1
            return LossEstimate(loss, error, (1 - min(allowed, 1.0)) ** self.num_units)
        distance = (allowed - loss - self._step / 2) / error
        return LossEstimate(loss, error, float(stats.t.sf(distance, self._parts.max())))

    @property
    def exact(self) -> bool:
        """Whether the test is exact."""
        return self.metric is ACCURACY and self.num_units == len(self.gold)

    @cached_property
    def num_units(self) -> int:
        """Independent units."""
        return len(set(self.units))

    def needed(self, estimate: LossEstimate, allowed: float, level: float) -> int | None:
        """About how many examples would be enough if the loss is as estimated, to two digits.

        None: no number of examples, because the estimated loss is not below what is allowed. The
        t-test asks for (room - step / 2) / error to exceed a quantile; the step shrinks with the
        number of examples, the error with its root.
        """
        from scipy import stats

        room = allowed - estimate.loss
        if room <= 0:
            return None
        spread, step = float(stats.norm.isf(level)) * estimate.error, self._step
        growth = (spread + math.sqrt(spread**2 + 2 * room * step)) / (2 * room)
        number = len(self.gold) * growth**2
        if estimate.error == 0.0:
            number = math.log(level) / math.log1p(-min(allowed, level))
        if not self.exact:
            number = max(number, len(self.gold) * MIN_UNITS / self.num_units)
        digits = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
        return round(math.ceil(number / digits) * digits)

    @cached_property
    def _value(self) -> float:
        return self.metric(self.intact, self.gold)

    @cached_property
    def _step(self) -> float:
        """For classes, the most that one more changed prediction can move the metric; with
        documents, on average that all predictions of the document of an example can; else 0.

        A loss of what is allowed, if it comes in steps of s, has a standard error of at least the
        root of s times what is allowed, even where no step was seen.
        """
        if self.metric.kind is not MetricKind.CLASSES:
            return 0.0
        _, sizes = np.unique(np.array(self.units), return_counts=True)
        together = float((sizes**2).sum() / sizes.sum())
        return together * largest_step(self.metric, self.intact, self.gold)

    @cached_property
    def _parts(self) -> NDArray[np.int64]:
        """(example,) the part of the jackknife that each example is left out with."""
        names, member = np.unique(np.array(self.units), return_inverse=True)
        shuffled = np.random.default_rng(0).permutation(len(names))
        return np.asarray(shuffled[member] % min(GROUPS, len(names)), np.int64)

    @cached_property
    def _intact_without(self) -> Floats:
        return self._without(self.intact)

    def _without(self, predictions: Floats) -> Floats:
        """(part,) the metric without each part of the examples."""
        parts = np.arange(self._parts.max() + 1)
        if self.metric.kind is MetricKind.CLASSES:
            pairs = np.stack([predictions, self.gold])
            (sides, golds), member = np.unique(pairs, axis=1, return_inverse=True)
            counts = np.zeros((len(parts), len(sides)))
            np.add.at(counts, (self._parts, member.ravel()), 1.0)
            return self.metric.formula(sides, golds, counts.sum(0) - counts)
        rows = max(1, CHUNK // len(self.gold))
        return np.concatenate(
            [
                self.metric.weighted(
                    predictions, self.gold, (some[:, None] != self._parts).astype(float)
                )
                for some in np.array_split(parts, math.ceil(len(parts) / rows))
            ]
        )

    def _jackknife(self, changed: Floats) -> float:
        """The standard error of the loss."""
        differences = self._without(changed) - self._intact_without
        return float(standard_error(differences, np.ones(len(differences), bool))[0])


@lru_cache(1 << 16)
def exact_p(lost: int, gained: int, examples: int, allowed: float) -> float:
    """The exact p-value that the rate of losses exceeds that of gains by more than is allowed.

    Samples are ordered by Tango's score (1998), and the p-value is the largest probability, over
    the unknown rate of gains, of a sample that speaks as much against the null hypothesis
    (Hsueh et al. 2001). The maximum is taken on the boundary of the null hypothesis, where it lies
    because fewer losses or more gains never speak less against it, on a grid of `RATES` rates.

    Args:
        lost, gained: examples that are wrong without being so before, and the other way round.

    >>> round(exact_p(0, 0, 299, 0.01), 4), round(exact_p(3, 2, 1000, 0.01), 4)
    (0.0495, 0.0052)
    """
    from scipy import stats

    gains = np.arange(examples + 1)
    score = tango_score(np.array([lost]), np.array([gained]), examples, allowed)[0]
    most = np.maximum.accumulate(_most_losses(score, gains, examples, allowed))
    most = np.minimum(most, examples - gains)
    largest = 0.0
    for rate in (1 - allowed) / 2 * np.linspace(0, 1, RATES) ** 2:
        middle = examples * rate
        reach = REACH * math.sqrt(middle) + REACH**2
        near = gains[max(0, math.floor(middle - reach)) : math.ceil(middle + reach) + 1]
        as_low = stats.binom.cdf(most[near], examples - near, (rate + allowed) / (1 - rate))
        chance = float((stats.binom.pmf(near, examples, rate) * as_low).sum())
        largest = max(largest, chance)
    return min(1.0, largest)


def tango_score(
    lost: NDArray[np.int64], gained: NDArray[np.int64], examples: int, allowed: float
) -> Floats:
    """(...) the standardised excess of losses over gains and what is allowed (Tango 1998).

    The variance is that of the rates of losses and gains which are most likely among those that
    differ by what is allowed.
    """
    both = (lost + gained) * (1 - allowed) - 2 * allowed * (examples - lost)
    root = np.sqrt(both**2 + 8.0 * examples * gained * allowed * (1 - allowed))
    rate = (both + root) / (4 * examples)
    variance = examples * (2 * rate + allowed - allowed**2)
    return np.asarray((lost - gained - examples * allowed) / np.sqrt(np.maximum(variance, 1e-300)))


def _most_losses(
    score: float, gains: NDArray[np.int64], examples: int, allowed: float
) -> NDArray[np.int64]:
    """(gains,) the most losses with a score no higher than this; -1 where there are none."""
    low, high = np.full_like(gains, -1), examples - gains
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = tango_score(middle, gains, examples, allowed) <= score + 1e-9
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low
