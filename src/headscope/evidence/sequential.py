"""Sequential decisions: looks at growing data, with a bound on the rate of wrong verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from headscope.evidence.interval import ALPHA
from headscope.evidence.metrics import Metric
from headscope.evidence.paired import Effect


class Verdict(StrEnum):
    """What a head does for a task."""

    HELPS = "helps"  # without it the metric is worse
    HURTS = "hurts"  # without it the metric is better
    NOTHING = "nothing"  # without it the metric is the same, within the margin
    UNCLEAR = "unclear"  # the data do not decide


@dataclass(frozen=True)
class Decider:
    """Decides what a head does as soon as the data allow.

    A verdict is wrong if it is "helps" or "hurts" and the true effect is zero or has the opposite
    sign, or if it is "nothing" and the true effect exceeds the margin. Each of the `looks`
    intervals has the confidence 1 - error / looks, so that the verdict on a head is wrong with a
    probability of at most `error`, however many looks are taken. The bound holds for each head
    separately: of many heads, that share may be judged wrongly.

    Attributes:
        margin: effects smaller than this (in the unit of the metric) count as no effect.
        error: maximum probability of a wrong verdict, per head.
        looks: maximum number of looks.
    """

    margin: float = 0.01
    error: float = 0.05
    looks: int = 8

    def bounds(self, effect: Effect) -> tuple[float, float]:
        """The interval of one look, corrected for the number of looks.

        If predictions are classes, few of them change and the standard error is itself uncertain:
        the interval is at least as wide as it would be if no prediction had changed and each
        unobserved change moved the metric as far as possible.
        """
        from scipy import stats

        tail = self.error / self.looks / 2
        half = max(float(stats.norm.isf(tail)) * effect.error, -math.log(tail) * effect.step)
        return effect.delta - half, effect.delta + half

    def verdict(self, effect: Effect, metric: Metric) -> Verdict:
        """The verdict at one look.

        >>> from headscope.evidence.metrics import SPEARMAN
        >>> Decider().verdict(Effect(0.8, -0.1, 0, 0, 0.01, 9, 0), SPEARMAN)
        <Verdict.HELPS: 'helps'>
        """
        low, high = self.bounds(effect)
        if low > 0 or high < 0:
            better = (low > 0) is (metric.better > 0)
            return Verdict.HURTS if better else Verdict.HELPS
        if -self.margin < low and high < self.margin:
            return Verdict.NOTHING
        return Verdict.UNCLEAR


def final_verdict(
    metric: Metric, delta: float, interval: tuple[float, float], q: float, margin: float
) -> Verdict:
    """The verdict on all data: from the corrected test, or from an interval within the margin."""
    if q < ALPHA:
        return Verdict.HURTS if (delta > 0) is (metric.better > 0) else Verdict.HELPS
    inside = -margin < interval[0] and interval[1] < margin
    return Verdict.NOTHING if inside else Verdict.UNCLEAR
