"""Deciding early: looks at growing data, with a bound on how often a verdict is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scipy import stats

from headscope.evidence.metrics import Kind, Metric
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
    way, or says "nothing" and the true effect exceeds the margin. Each of `looks` interim
    intervals has the confidence 1 - error / looks, so a head's verdict is wrong with a
    probability of at most `error`, however often one looked.

    Attributes:
        margin: an effect so small (in the metric's own unit) counts as nothing.
        error: how often a verdict may be wrong, per head.
        looks: at most so many looks will be taken.
    """

    margin: float = 0.01
    error: float = 0.05
    looks: int = 8

    def bounds(self, effect: Effect, metric: Metric, n: int) -> tuple[float, float]:
        """The interval of one look, wide enough for all of them.

        Where predictions are classes, few of them change and the error is itself uncertain: the
        interval is never narrower than what n examples without any change would leave open.
        """
        tail = self.error / self.looks / 2
        half = float(stats.norm.isf(tail)) * effect.error
        if metric.kind is Kind.CLASSES:
            half = max(half, -math.log(tail) / n)
        return effect.delta - half, effect.delta + half

    def verdict(self, effect: Effect, metric: Metric, n: int) -> Verdict:
        """What can be said after n examples.

        >>> from headscope.evidence.metrics import SPEARMAN
        >>> Decider().verdict(Effect(0.8, -0.1, 0, 0, 0.01, 0, 9), SPEARMAN, 200)
        <Verdict.HELPS: 'helps'>
        """
        low, high = self.bounds(effect, metric, n)
        if low > 0 or high < 0:
            better = (low > 0) is (metric.better > 0)
            return Verdict.HURTS if better else Verdict.HELPS
        if -self.margin < low and high < self.margin:
            return Verdict.NOTHING
        return Verdict.UNCLEAR


def final_verdict(metric: Metric, row: Mapping[str, Any], margin: float) -> Verdict:
    """The verdict after all data: by the corrected test, or by an interval within the margin.

    Args:
        row: with `delta`, `low`, `high`, `q`.
    """
    if row["q"] < SURE:
        return Verdict.HURTS if (row["delta"] > 0) is (metric.better > 0) else Verdict.HELPS
    inside = -margin < row["low"] and row["high"] < margin
    return Verdict.NOTHING if inside else Verdict.UNCLEAR
