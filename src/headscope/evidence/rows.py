"""The rows of the head tables: statistics as numbers of heads, layers and the model, with tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope._util.naming import SELF
from headscope.evidence.head_table import BestHead, HeadRow
from headscope.evidence.interval import (
    NO_MARGIN,
    Floats,
    Margin,
    benjamini_hochberg,
    difference_test,
    estimate,
)
from headscope.evidence.statistic import Null, Statistic

if TYPE_CHECKING:
    from headscope.evidence.tally import Layout
    from headscope.evidence.untrained import Margins

Columns = dict[str, list[Any]]
"""Columns of a `HeadRow` while they are being filled."""
Row = TypeVar("Row", bound=HeadRow)
NAMES = (
    "statistic",
    "group",
    "direction",
    "attention",
    "layer",
    "head",
    "value",
    "low",
    "high",
    "n",
    "baseline",
    "null_low",
    "null_high",
    "p",
)
"""The columns of a row between its place (corpus, weights, analysis) and q."""


@dataclass(frozen=True)
class _Parts:
    """Sums and counts of the statistic, of its baseline and of its null hypothesis.

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
    def of(cls, statistic: Statistic, heads: Sequence[int] = ()) -> _Parts:
        """The parts of a statistic; NaN where it has no baseline.

        Args:
            heads: the number of heads of each layer, where layers differ: the others do not count.
        """
        tally = statistic.tally
        shape = tally.sums.shape
        if heads and shape[1:3] == (len(heads), max(heads)):
            there = np.arange(shape[2]) < np.array(heads)[:, None]
            tally = tally.of(tally.sums, tally.counts * there[None, :, :, None])
        empty = tally.of(np.full(shape, np.nan), np.ones(shape))
        base = statistic.baseline or empty
        null = statistic.null or Null(base, np.zeros((2, *shape[1:])))
        arrays = [part for each in (tally, base, null.tally) for part in (each.sums, each.counts)]
        sums, counts, *others = (np.broadcast_to(part, shape) for part in arrays)
        return cls(sums, counts, others[0], others[1], others[2], others[3], null.spread)

    def each(self) -> tuple[Floats, ...]:
        """The arrays in the order of the fields."""
        measured = (self.sums, self.counts, self.base, self.base_counts)
        return (*measured, self.null, self.null_counts, self.spread)


def head_rows(
    statistics: Sequence[Statistic],
    analysis: str,
    corpus: str,
    weights: str,
    *,
    layout: Layout | None = None,
    margins: Margins | None = None,
) -> list[HeadRow]:
    """Rows per head, per layer (head None) and for the model (both None).

    The value of a layer pools its heads, that of the model its layers: ratios of summed sums and
    counts. q is corrected over all heads, groups and directions of a statistic.

    Args:
        layout: of the tallies; None: layers with the same number of heads, in one stack.
        margins: how far from the null hypotheses heads that know nothing are.
    """
    columns: Columns = {name: [] for name in NAMES}
    for statistic in statistics:
        parts = _Parts.of(statistic, layout.counts if layout else ())
        within = None if margins is None else margins.of(statistic)
        for pooled in statistic.levels:
            level = _Parts(*(part.sum(axis=pooled, keepdims=True) for part in parts.each()))
            places = np.indices(level.sums.shape[1:]).reshape(3, -1)
            layers = np.full(places.shape[1], -1) if 1 in pooled else places[0]
            numbers = np.full(places.shape[1], -1) if 2 in pooled else places[1]
            at = (layers, numbers, places[2])
            _append(columns, statistic, level, at, layout=layout, tested=not pooled, within=within)
    return _finish(HeadRow, columns, (corpus, weights, analysis))


def best_rows(
    statistics: Sequence[Statistic],
    analysis: str,
    corpus: str,
    weights: str,
    *,
    layout: Layout | None = None,
    margins: Margins | None = None,
) -> list[BestHead]:
    """The best head of each group, with a cross-fitted value.

    The head is the best one on all data. Its value, interval and test are cross-fitted (selected
    on one half of the buckets, scored on the other), so that selection does not bias them.
    """
    columns: Columns = {name: [] for name in NAMES}
    for statistic in statistics:
        if () not in statistic.levels:
            continue
        parts = _Parts.of(statistic, layout.counts if layout else ()).each()
        flat = [part.reshape(len(part), -1, part.shape[-1]) for part in parts]
        ranked = statistic.better * flat[0]
        chosen = _Parts(*(crossfit(part, ranked, flat[1])[:, None, None] for part in flat))
        with np.errstate(invalid="ignore", divide="ignore"):
            overall = _argmax(ranked.sum(0) / flat[1].sum(0))
        most = statistic.tally.sums.shape[2]
        places = (overall // most, overall % most, np.arange(len(overall)))
        within = None if margins is None else margins.of(statistic)
        _append(columns, statistic, chosen, places, layout=layout, tested=True, within=within)
    return _finish(BestHead, columns, (corpus, weights, analysis))


def crossfit(values: Floats, sums: Floats, counts: Floats) -> Floats:
    """(bucket, group) the `values` of the head that is best on the other half of the buckets.

    If the other half has no case of a group, the best head on all data is used; there are then
    usually too few documents for an interval.

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
    """(group,) the head with the largest of (head, group) ratios, ignoring NaN."""
    return np.asarray(np.where(np.isnan(ratios), -np.inf, ratios).argmax(0))


def _append(
    columns: Columns,
    statistic: Statistic,
    parts: _Parts,
    places: tuple[NDArray[np.int64], ...],
    *,
    layout: Layout | None,
    tested: bool,
    within: Margin | None,
) -> None:
    """Append the rows of (bucket, layer, head, group) parts; places: layers, heads, groups."""
    estimated = estimate(parts.sums, parts.counts, statistic.unit.bounded)
    with np.errstate(invalid="ignore", divide="ignore"):
        baseline = parts.base.sum(0) / parts.base_counts.sum(0)
    p = np.full(estimated.value.shape, np.nan)
    if statistic.p is not None:  # no test with too few documents
        p = np.where(np.isnan(estimated.low), np.nan, statistic.p)
    if tested:
        p = _chance(statistic, parts, within or NO_MARGIN)
    null_low, null_high = _null_range(statistic, parts, within if tested else None)
    filled = estimated.n.ravel() > 0
    layers, heads, groups = (place[filled].tolist() for place in places)
    names = statistic.groups or (None,)
    whole = (layout.attention if layout else SELF, None)
    named = {
        layer: layout.named(layer) if layout else (SELF, layer) for layer in set(layers) - {-1}
    }
    columns["attention"] += [named.get(layer, whole)[0] for layer in layers]
    columns["layer"] += [named.get(layer, whole)[1] for layer in layers]
    columns["head"] += [None if head < 0 else head for head in heads]
    columns["group"] += [names[group] for group in groups]
    columns["n"] += [int(n) for n in estimated.n.ravel()[filled]]
    numbers = {"value": estimated.value, "low": estimated.low, "high": estimated.high}
    numbers |= {"baseline": baseline, "null_low": null_low, "null_high": null_high, "p": p}
    for column, values in numbers.items():
        columns[column] += [_number(value) for value in values.ravel()[filled].tolist()]
    columns["statistic"] += [statistic.name] * len(groups)
    columns["direction"] += [statistic.direction] * len(groups)


def _chance(statistic: Statistic, parts: _Parts, within: Margin) -> Floats:
    """(layer, head, group) the p-values.

    Args:
        within: (group,) how far from the null hypothesis heads that know nothing are.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(parts.spread.sum(0)) / parts.counts.sum(0)
    pairs = (parts.sums, parts.counts, parts.null, parts.null_counts)
    return difference_test(
        *pairs,
        spread,
        above=statistic.null is not None,
        margin=within,
        share=statistic.unit.bounded,
    )[1]


def _null_range(
    statistic: Statistic, parts: _Parts, within: Margin | None
) -> tuple[Floats, Floats]:
    """The values between which nothing is found, of those that a number can have; NaN where the
    test is against the null itself.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        null = parts.null.sum(0) / parts.null_counts.sum(0)
    if within is None:
        return np.full(null.shape, np.nan), np.full(null.shape, np.nan)
    low, high = within.around(null)
    return (np.clip(low, 0, 1), np.clip(high, 0, 1)) if statistic.unit.bounded else (low, high)


def _finish(kind: type[Row], columns: Columns, place: tuple[str, str, str]) -> list[Row]:
    """Correct p over all rows of the same statistic, and build the rows."""
    names = np.array(columns["statistic"], dtype=object)
    p = np.array([np.nan if value is None else value for value in columns["p"]])
    q = np.full(len(p), np.nan)
    for name in dict.fromkeys(columns["statistic"]):
        q[names == name] = benjamini_hochberg(p[names == name])
    corpus, weights, analysis = place
    given: dict[str, Any] = {"corpus": corpus, "weights": weights, "analysis": analysis}
    values: Iterator[Any] = zip(*(columns[name] for name in NAMES), strict=True)
    return [
        kind(**given, **dict(zip(NAMES, row, strict=True)), q=_number(q_value))
        for row, q_value in zip(values, q.tolist(), strict=True)
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
