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

from headscope.evidence.interval import (
    MIN_BUCKETS,
    Floats,
    Margin,
    leave_one_out,
    standard_error,
)
from headscope.evidence.statistic import Statistic

REACH = 5.0
"""Heads that know nothing reach so many standard deviations from the mean of untrained heads."""
SURELY = 2.0
"""Standard errors of a layer's sampling variance by which its heads must vary more to count."""
FEWEST = 2
"""Heads of a layer that have a standard deviation."""

Key = tuple[str, str | None]
"""Name and direction of a statistic."""
Range = tuple[float, float]
"""How far below and above the null hypothesis; NaN where the networks showed too little to say."""
UNKNOWN: Range = (np.nan, np.nan)


@dataclass(frozen=True)
class Reach:
    """How far from the null hypothesis of a statistic heads that know nothing are, by group.

    Attributes:
        log_odds: whether distances are differences of log odds.
    """

    log_odds: bool
    ranges: Mapping[str, Range]


@dataclass(frozen=True)
class Margins:
    """How far from their null hypotheses heads that know nothing are.

    Where it is not known, nothing is tested.
    """

    by_statistic: Mapping[Key, Reach]

    def of(self, statistic: Statistic) -> Margin:
        """(group,) the margins of a statistic."""
        reach = self.by_statistic.get((statistic.name, statistic.direction), Reach(False, {}))
        ranges = [reach.ranges.get(group, UNKNOWN) for group in statistic.groups or ("",)]
        below, above = np.array(ranges).T
        return Margin(below, above, reach.log_odds)


def margins(networks: Sequence[Sequence[Statistic]]) -> Margins:
    """The margins that untrained networks give.

    The distances of heads from the null hypothesis vary about the mean of their layer, by more
    than their sampling error: the variance beyond it, of all layers or of a layer that surely has
    more, says how far heads reach. The layer that reaches farthest counts. A group with too few
    documents takes the largest margins of the other groups of its statistic.

    Args:
        networks: the statistics of each.
    """
    named: dict[Key, list[Statistic]] = {}
    for statistics in networks:
        for statistic in statistics:
            if statistic.baseline is not None or statistic.null is not None:
                named.setdefault((statistic.name, statistic.direction), []).append(statistic)
    return Margins({key: _reach(same) for key, same in named.items()})


def _reach(same: Sequence[Statistic]) -> Reach:
    """How far the heads of the networks reach in one statistic."""
    log_odds = all(_has_log_odds(statistic) for statistic in same)
    groups = list(dict.fromkeys(group for one in same for group in one.groups or ("",)))
    ranges = {group: _range(same, group, log_odds) for group in groups}
    known = [one for one in ranges.values() if one != UNKNOWN]
    if known:
        widest = (max(below for below, _ in known), max(above for _, above in known))
        ranges = {group: widest if one == UNKNOWN else one for group, one in ranges.items()}
    return Reach(log_odds, ranges)


def _has_log_odds(statistic: Statistic) -> bool:
    """Whether distances are differences of log odds: those of shares of attention, which a change
    of all scores multiplies. Not where heads have null hypotheses of their own, nor where uniform
    attention has all there is.
    """
    if not statistic.unit.bounded or statistic.null is not None or statistic.baseline is None:
        return False
    shares = statistic.baseline.ratio()
    return bool(((shares > 0) & (shares < 1)).any())


def _range(same: Sequence[Statistic], group: str, log_odds: bool) -> Range:
    """How far the heads of the networks reach below and above the null hypothesis."""
    there = [one for one in same if group in (one.groups or ("",))]
    places = [(one.groups or ("",)).index(group) for one in there]
    measured = [_distances(one, place, log_odds) for one, place in zip(there, places, strict=True)]
    distances, variances = (np.concatenate(parts, axis=1) for parts in zip(*measured, strict=True))
    known = ~np.isnan(distances)
    layers = known.sum(1) >= FEWEST
    if not layers.any():
        return UNKNOWN
    distances, known = np.where(known, distances, np.nan)[layers], known[layers]
    means, freedom = np.nanmean(distances, 1), known.sum(1) - 1
    spreads = np.nanvar(distances, 1, ddof=1)
    sampling = np.nanmean(np.where(known, variances[layers], np.nan), 1)
    beyond = spreads - sampling
    surely = beyond - SURELY * sampling * np.sqrt(2 / freedom)
    pooled = np.average(beyond, weights=freedom)
    reach = REACH * np.sqrt(np.maximum(0.0, np.maximum(pooled, surely)))
    return max(0.0, -float((means - reach).min())), max(0.0, float((means + reach).max()))


def _distances(statistic: Statistic, place: int, log_odds: bool) -> tuple[Floats, Floats]:
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
            _scaled(part, log_odds) - _scaled(other, log_odds)
            for part, other in (
                (sums.sum(0) / counts.sum(0), base.sum(0) / base_counts.sum(0)),
                (leave_one_out(sums, counts), leave_one_out(base, base_counts)),
            )
        )
        filled = (counts > 0) | (base_counts > 0)
        usable = np.isfinite(without) | ~filled
        error, units = standard_error(np.where(usable, without, 0.0), filled)
    known = (units >= MIN_BUCKETS) & np.isfinite(distance) & usable.all(0)
    return np.where(known, distance, np.nan), error**2


def _scaled(values: Floats, log_odds: bool) -> Floats:
    """Values on the scale on which margins are."""
    return np.asarray(np.log(values) - np.log1p(-values)) if log_odds else values
