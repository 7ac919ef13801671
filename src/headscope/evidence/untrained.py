"""What a head that knows nothing does: how far heads of untrained networks are from a baseline.

A head of a network with random weights knows nothing, and yet it is not uniform: it prefers some
tokens to others, and with enough data every such preference is significant. So the question is not
whether a head differs from a uniform one, but whether it differs from it by more than heads of
untrained networks do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.evidence.interval import MIN_BUCKETS, Floats, leave_one_out, standard_error
from headscope.evidence.statistic import Statistic

REACH = 5.0
"""Heads that know nothing reach so many standard deviations from the mean of untrained heads."""

Key = tuple[str, str | None]
"""Name and direction of a statistic."""
Range = tuple[float, float]
"""How far below and above the null hypothesis; NaN where the networks showed too little to say."""
UNTOLD: Range = (np.nan, np.nan)
FEWEST = 2
"""Heads of a layer that have a standard deviation."""


@dataclass(frozen=True)
class Margins:
    """How far from their null hypotheses heads that know nothing are, by statistic and group.

    Differences, or differences of log odds (`Statistic.log_odds`). Where they are not known,
    nothing is tested.
    """

    by_group: Mapping[Key, Mapping[str, Range]]

    def of(self, statistic: Statistic) -> tuple[Floats, Floats]:
        """(group,) the margins of a statistic, below and above."""
        known = self.by_group.get((statistic.name, statistic.direction), {})
        ranges = [known.get(group, UNTOLD) for group in statistic.groups or ("",)]
        below, above = np.array(ranges).T
        return below, above


def margins(networks: Sequence[Sequence[Statistic]]) -> Margins:
    """The margins that untrained networks give.

    In every layer, the distances of heads from the null hypothesis have a mean and, once their
    sampling error is taken away, a standard deviation; the layer that reaches farthest counts. A
    group with too few documents takes the largest margins of the other groups of its statistic.

    Args:
        networks: the statistics of each.
    """
    named: dict[Key, list[Statistic]] = {}
    for statistics in networks:
        for one in statistics:
            if one.baseline is not None or one.null is not None:
                named.setdefault((one.name, one.direction), []).append(one)
    return Margins({key: _by_group(same) for key, same in named.items()})


def _by_group(same: Sequence[Statistic]) -> dict[str, Range]:
    """By group, the margins of one statistic."""
    groups = list(dict.fromkeys(group for one in same for group in one.groups or ("",)))
    ranges = {
        group: _reach([one for one in same if group in (one.groups or ("",))], group)
        for group in groups
    }
    known = [one for one in ranges.values() if one != UNTOLD]
    if not known:
        return ranges
    widest = (max(below for below, _ in known), max(above for _, above in known))
    return {group: widest if one == UNTOLD else one for group, one in ranges.items()}


def _reach(same: Sequence[Statistic], group: str) -> Range:
    """How far the heads of the networks reach below and above the null hypothesis."""
    places = [(one.groups or ("",)).index(group) for one in same]
    told = [_distances(one, place) for one, place in zip(same, places, strict=True)]
    distances, variances = (np.concatenate(parts, axis=1) for parts in zip(*told, strict=True))
    lows, highs = [0.0], [0.0]
    for distance, variance in zip(distances, variances, strict=True):
        there = ~np.isnan(distance)
        if there.sum() >= FEWEST:
            mean, spread = distance[there].mean(), distance[there].var(ddof=1)
            reach = REACH * np.sqrt(max(0.0, spread - variance[there].mean()))
            lows.append(mean - reach)
            highs.append(mean + reach)
    return (-min(lows), max(highs)) if len(lows) > 1 else UNTOLD


def _distances(statistic: Statistic, place: int) -> tuple[Floats, Floats]:
    """(layer, head) distances of a group from the null hypothesis, and their sampling variances.

    NaN where there are too few documents, or a share is 0 or 1 and has no log odds.
    """
    null = statistic.null.tally if statistic.null is not None else statistic.baseline
    assert null is not None
    shape = statistic.tally.sums.shape
    sums, counts, base, base_counts = (
        np.broadcast_to(part, shape)[..., place]
        for tally in (statistic.tally, null)
        for part in (tally.sums, tally.counts)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        distance, without = (
            _scaled(part, statistic.log_odds) - _scaled(other, statistic.log_odds)
            for part, other in (
                (sums.sum(0) / counts.sum(0), base.sum(0) / base_counts.sum(0)),
                (leave_one_out(sums, counts), leave_one_out(base, base_counts)),
            )
        )
        filled = (counts > 0) | (base_counts > 0)
        usable = np.isfinite(without) | ~filled
        error, units = standard_error(np.where(usable, without, 0.0), filled)
    telling = (units >= MIN_BUCKETS) & np.isfinite(distance) & usable.all(0)
    return np.where(telling, distance, np.nan), error**2


def _scaled(values: Floats, log_odds: bool) -> Floats:
    """Values on the scale on which margins are."""
    return np.asarray(np.log(values) - np.log1p(-values)) if log_odds else values
