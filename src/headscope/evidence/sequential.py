"""Deciding early: looks at growing data, with a bound on how often a verdict is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import scipy

from headscope.evidence.metrics import Metric
from headscope.evidence.paired import Effect

SURE = 0.05
"""A corrected p-value below this counts."""


class Verdict(StrEnum):
    """What a head does for a task."""

    HELPS = "helps"  # without it the metric is worse
    HURTS = "hurts"  # without it the metric is better
    NOTHING = "nothing"  # without it the metric is the same, within the margin
    UNCLEAR = "unclear"  # the data do not tell


@dataclass(frozen=True)
class Decider:
    """Gives a verdict as soon as it is safe.

    A verdict is wrong when it says "helps" or "hurts" and the true effect is zero or the other
    way, or says "nothing" and the true effect exceeds the margin. Each of `looks` intervals, the
    last one included, has the confidence 1 - error / looks, so a head's verdict is wrong with a
    probability of at most `error`, however often one looked. It is a promise for each head: of
    many heads, that share may be judged wrongly.

    Attributes:
        margin: an effect so small (in the metric's own unit) counts as nothing.
        error: how often a verdict may be wrong, per head.
        looks: at most so many looks will be taken.
    """

    margin: float = 0.01
    error: float = 0.05
    looks: int = 8

    def bounds(self, effect: Effect) -> tuple[float, float]:
        """The interval of one look, wide enough for all of them.

        Where predictions are classes, few of them change and the error is itself uncertain: the
        interval is never narrower than what as many examples without any change would leave open,
        were each of the missed changes one that moves the metric most.
        """
        tail = self.error / self.looks / 2
        half = max(float(scipy.stats.norm.isf(tail)) * effect.error, -math.log(tail) * effect.step)
        return effect.delta - half, effect.delta + half

    def verdict(self, effect: Effect, metric: Metric) -> Verdict:
        """What can be said at one look.

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
    """The verdict after all data: by the corrected test, or by an interval within the margin."""
    if q < SURE:
        return Verdict.HURTS if (delta > 0) is (metric.better > 0) else Verdict.HELPS
    inside = -margin < interval[0] and interval[1] < margin
    return Verdict.NOTHING if inside else Verdict.UNCLEAR
