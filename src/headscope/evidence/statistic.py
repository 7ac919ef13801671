"""Statistics: named tallies with a baseline, and the tidy rows that they become."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.interval import Floats, corrected, difference, estimate
from headscope.evidence.tally import Tally

COLUMNS = (
    "corpus", "weights", "analysis", "statistic", "group", "direction", "layer", "head",
    "value", "low", "high", "n", "baseline", "p", "q",
)  # fmt: skip
"""The columns of heads.parquet."""

Rows = dict[str, list[Any]]


class Unit(StrEnum):
    """What a value is."""

    SHARE = "share"  # of attention or of cases, 0 to 1
    POINTS = "points"  # a difference of shares, -1 to 1
    NATS = "nats"  # entropy, divergence
    GAINED = "nats gained"  # a difference of such, or of log-odds, on either side of 0
    TIMES = "times"  # a multiple of what it is compared with
    GRADIENT = "gradient"  # how much a loss changes with something


@dataclass(frozen=True)
class Null:
    """What a test compares with, where that is not the baseline: is the value above it?

    Attributes:
        tally: what the sums are expected to be.
        spread: (half of the buckets, layer, head, group) how much the sums vary when it is true;
            the jackknife sees too little of it where cases are few and all alike.
    """

    tally: Tally
    spread: Floats


@dataclass(frozen=True)
class Statistic:
    """A number per head (and per group), with what it would be for a head that knows nothing.

    Attributes:
        name: as it stands in the run folder.
        tally: (bucket, layer, head, group); (bucket, layer, 1, group) for a number of a layer's
            heads together; (bucket, 1, 1, group) for one of the corpus or of the model as a whole.
        baseline: (bucket, layer or 1, head or 1, group), from the same examples; None: none.
        groups: what the tally's groups are (offsets, roles); empty where there is one.
        direction: null where it does not apply.
        about: what it means, in a sentence for a reader of the report.
        headlines: groups whose best head is worth a line in a summary, with the words for it
            (the empty string where there are no groups).
        null: what the test compares with, where that is not the baseline.
        p: of a test that was made elsewhere, for a number of the model as a whole.
        together: it is a number of all heads of a layer together.
    """

    name: str
    tally: Tally
    baseline: Tally | None
    unit: Unit
    about: str
    groups: tuple[str, ...] = ()
    direction: str | None = None
    headlines: dict[str, str] = field(default_factory=dict)
    null: Null | None = None
    p: float | None = None
    together: bool = False

    @property
    def whole(self) -> bool:
        """Whether no head has a part in it."""
        return self.tally.sums.shape[1:3] == (1, 1) and self.baseline is None

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Axes of the tally that are pooled for each kind of row: head, layer, model."""
        if self.whole:
            return ((1, 2),)
        return ((2,), (1, 2)) if self.together else ((), (2,), (1, 2))

    def describe(self) -> dict[str, Any]:
        """What the run's record keeps, so that a reader knows what the numbers are."""
        return {
            "statistic": self.name,
            "direction": self.direction,
            "groups": list(self.groups),
            "unit": str(self.unit),
            "about": self.about,
            "headlines": self.headlines,
        }


@dataclass(frozen=True)
class _Parts:
    """Sums and counts of the statistic, of its baseline and of what it is tested against.

    All (bucket, layer, head, group), the spread (half, layer, head, group).
    """

    sums: Floats
    counts: Floats
    base: Floats
    base_counts: Floats
    null: Floats
    null_counts: Floats
    spread: Floats

    @classmethod
    def of(cls, statistic: Statistic) -> _Parts:
        """What a statistic has."""
        tally = statistic.tally
        shape = tally.sums.shape
        empty = Tally.of(np.full(shape, np.nan), np.ones(shape))
        base = statistic.baseline or empty
        null = statistic.null or Null(base, np.zeros((2, *shape[1:])))
        arrays = [part for one in (tally, base, null.tally) for part in (one.sums, one.counts)]
        sums, counts, *others = (np.broadcast_to(part, shape) for part in arrays)
        return cls(sums, counts, others[0], others[1], others[2], others[3], null.spread)

    def each(self) -> tuple[Floats, ...]:
        """In the order of the fields."""
        known = (self.sums, self.counts, self.base, self.base_counts)
        return (*known, self.null, self.null_counts, self.spread)


def rows(statistics: Sequence[Statistic], analysis: str, corpus: str, weights: str) -> Rows:
    """Rows per head, per layer (head null), for the model (both null).

    A layer's value pools its heads, the model's pools its layers: sums over sums. q is corrected
    over all heads, groups and directions of a statistic.
    """
    table: Rows = {column: [] for column in COLUMNS}
    for statistic in statistics:
        parts = _Parts.of(statistic)
        for pooled in statistic.levels:
            level = _Parts(*(part.sum(axis=pooled, keepdims=True) for part in parts.each()))
            places = np.indices(level.sums.shape[1:]).reshape(3, -1)
            layers = np.full(places.shape[1], -1) if 1 in pooled else places[0]
            heads = np.full(places.shape[1], -1) if 2 in pooled else places[1]
            _append(table, statistic, level, (layers, heads, places[2]), tested=not pooled)
    return _finish(table, analysis, corpus, weights)


def best_rows(statistics: Sequence[Statistic], analysis: str, corpus: str, weights: str) -> Rows:
    """The best head of each group, chosen on one half of the buckets and scored on the other.

    The head named is the one chosen on all data; value, interval and test are cross-fitted, so
    that the luck of the choice is not in them.
    """
    table: Rows = {column: [] for column in COLUMNS}
    for statistic in statistics:
        if () not in statistic.levels:
            continue
        flat = [part.reshape(len(part), -1, part.shape[-1]) for part in _Parts.of(statistic).each()]
        chosen = _Parts(*(crossfit(part, *flat[:2])[:, None, None] for part in flat))
        with np.errstate(invalid="ignore", divide="ignore"):
            overall = _argmax(flat[0].sum(0) / flat[1].sum(0))
        heads = statistic.tally.sums.shape[2]
        places = (overall // heads, overall % heads, np.arange(len(overall)))
        _append(table, statistic, chosen, places, tested=True)
    return _finish(table, analysis, corpus, weights)


def crossfit(values: Floats, sums: Floats, counts: Floats) -> Floats:
    """(bucket, group) of `values` for the head that the other half of the buckets chooses.

    Where the other half has no case of a group, the choice is made on all data: then there are
    hardly documents enough to claim an interval anyway.

    Args:
        values, sums, counts: (bucket, head, group); buckets are halved by parity.
    """
    picked = np.empty((values.shape[0], values.shape[2]))
    with np.errstate(invalid="ignore", divide="ignore"):
        overall = _argmax(sums.sum(0) / counts.sum(0))
    for half in (0, 1):
        other = counts[1 - half :: 2].sum(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            best = _argmax(sums[1 - half :: 2].sum(0) / other)
        best = np.where(other.max(0) > 0, best, overall)
        picked[half::2] = values[half::2, best, np.arange(len(best))]
    return picked


def _argmax(ratios: Floats) -> NDArray[np.int64]:
    """(group,) the head with the largest ratio of (head, group); NaN never wins."""
    return np.asarray(np.where(np.isnan(ratios), -np.inf, ratios).argmax(0))


def _append(
    table: Rows,
    statistic: Statistic,
    parts: _Parts,
    places: tuple[NDArray[np.int64], ...],
    tested: bool,
) -> None:
    """Add rows for (bucket, layer, head, group) parts; places: their layers, heads, groups."""
    found = estimate(parts.sums, parts.counts, statistic.unit is Unit.SHARE)
    with np.errstate(invalid="ignore", divide="ignore"):
        baseline = parts.base.sum(0) / parts.base_counts.sum(0)
    p = np.full(found.value.shape, np.nan)
    if statistic.p is not None:  # with too few documents nothing is claimed
        p = np.where(np.isnan(found.low), np.nan, statistic.p)
    if tested:
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.sqrt(parts.spread.sum(0)) / parts.counts.sum(0)
        pairs = (parts.sums, parts.counts, parts.null, parts.null_counts)
        p = difference(*pairs, known, above=statistic.null is not None)[1]
    filled = found.n.ravel() > 0
    layers, heads, groups = (place[filled].tolist() for place in places)
    names = statistic.groups or (None,)
    table["layer"] += [None if layer < 0 else layer for layer in layers]
    table["head"] += [None if head < 0 else head for head in heads]
    table["group"] += [names[group] for group in groups]
    table["n"] += [int(n) for n in found.n.ravel()[filled]]
    columns = {"value": found.value, "low": found.low, "high": found.high}
    for column, values in (columns | {"baseline": baseline, "p": p}).items():
        numbers = values.ravel()[filled].tolist()
        table[column] += [None if math.isnan(number) else number for number in numbers]
    table["statistic"] += [statistic.name] * len(groups)
    table["direction"] += [statistic.direction] * len(groups)


def _finish(table: Rows, analysis: str, corpus: str, weights: str) -> Rows:
    """Fill in q, corrected over everything that has the name of a statistic, and the constants."""
    size = len(table["value"])
    names = np.array(table["statistic"], dtype=object)
    p = np.array([np.nan if one is None else one for one in table["p"]])
    q = np.full(size, np.nan)
    for name in dict.fromkeys(table["statistic"]):
        q[names == name] = corrected(p[names == name])
    table["q"] = [None if math.isnan(one) else one for one in q.tolist()]
    constants = {"corpus": corpus, "weights": weights, "analysis": analysis}
    return table | {column: [value] * size for column, value in constants.items()}
