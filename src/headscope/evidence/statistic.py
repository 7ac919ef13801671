"""Statistics: named tallies with a baseline, and the rows of the head tables made from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope._util.naming import SELF
from headscope.evidence.head_table import BestHead, HeadRow
from headscope.evidence.interval import Floats, benjamini_hochberg, difference_test, estimate
from headscope.evidence.unit import Unit

if TYPE_CHECKING:
    from headscope.evidence.tally import Layout, Mean, Tally

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
    "p",
)
"""The columns of a row between its place (corpus, weights, analysis) and q."""


@dataclass(frozen=True)
class Null:
    """The null hypothesis of a one-sided test, where it is not the baseline.

    Attributes:
        tally: the expected sums.
        spread: (half of the buckets, layer, head, group) variance of the sums under the null
            hypothesis, which the jackknife underestimates if cases are few and all alike.
    """

    tally: Tally
    spread: Floats


@dataclass(frozen=True)
class Statistic:
    """A number per head (and per group), with the baseline of an uninformed head.

    Attributes:
        name: its name in the run folder.
        tally: (bucket, layer, head, group); (bucket, layer, 1, group) for one number per layer;
            (bucket, 1, 1, group) for one number per corpus or model.
        baseline: (bucket, layer or 1, head or 1, group), from the same examples; or None.
        groups: names of the tally's groups (offsets, roles); empty if there is only one.
        direction: None if it does not apply.
        about: its meaning, in a sentence for the report.
        headlines: groups whose best head is listed in a summary, with the text of that line (the
            group is the empty string if there are no groups).
        null: the null hypothesis of the test, if it is not the baseline.
        p: p-value of a test done elsewhere, for one number per model.
        per_layer: whether it is one number per layer.
        better: 1 if the best head is that with the largest value, -1 if with the smallest.
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
    per_layer: bool = False
    better: int = 1

    @classmethod
    def of(cls, name: str, mean: Mean, unit: Unit, about: str, **options: Any) -> Statistic:
        """A mean with its baseline as a statistic.

        Args:
            options: further attributes (`groups`, `direction`, `headlines`, ...).
        """
        return cls(name, mean.tally, mean.baseline, unit, about, **options)

    @property
    def per_model(self) -> bool:
        """Whether it is one number for the whole model or corpus."""
        return self.tally.sums.shape[1:3] == (1, 1) and self.baseline is None

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The axes of the tally that are pooled for the rows of heads, of layers, of the model."""
        if self.per_model:
            return ((1, 2),)
        return ((2,), (1, 2)) if self.per_layer else ((), (2,), (1, 2))

    def describe(self) -> dict[str, Any]:
        """What `run.json` records about the statistic."""
        return {
            "statistic": self.name,
            "direction": self.direction,
            "groups": list(self.groups),
            "unit": self.unit.name,
            "about": self.about,
            "headlines": self.headlines,
        }


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
    layout: Layout | None = None,
) -> list[HeadRow]:
    """Rows per head, per layer (head None) and for the model (both None).

    The value of a layer pools its heads, that of the model its layers: ratios of summed sums and
    counts. q is corrected over all heads, groups and directions of a statistic.

    Args:
        layout: of the tallies; None: layers with the same number of heads, in one stack.
    """
    columns: Columns = {name: [] for name in NAMES}
    for statistic in statistics:
        parts = _Parts.of(statistic, layout.counts if layout else ())
        for pooled in statistic.levels:
            level = _Parts(*(part.sum(axis=pooled, keepdims=True) for part in parts.each()))
            places = np.indices(level.sums.shape[1:]).reshape(3, -1)
            layers = np.full(places.shape[1], -1) if 1 in pooled else places[0]
            numbers = np.full(places.shape[1], -1) if 2 in pooled else places[1]
            at = (layers, numbers, places[2])
            _append(columns, statistic, level, at, layout=layout, tested=not pooled)
    return _finish(HeadRow, columns, (corpus, weights, analysis))


def best_rows(
    statistics: Sequence[Statistic],
    analysis: str,
    corpus: str,
    weights: str,
    layout: Layout | None = None,
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
        _append(columns, statistic, chosen, places, layout=layout, tested=True)
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
) -> None:
    """Append the rows of (bucket, layer, head, group) parts; places: layers, heads, groups."""
    estimated = estimate(parts.sums, parts.counts, statistic.unit.bounded)
    with np.errstate(invalid="ignore", divide="ignore"):
        baseline = parts.base.sum(0) / parts.base_counts.sum(0)
    p = np.full(estimated.value.shape, np.nan)
    if statistic.p is not None:  # no test with too few documents
        p = np.where(np.isnan(estimated.low), np.nan, statistic.p)
    if tested:
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.sqrt(parts.spread.sum(0)) / parts.counts.sum(0)
        pairs = (parts.sums, parts.counts, parts.null, parts.null_counts)
        p = difference_test(*pairs, spread, above=statistic.null is not None)[1]
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
    for column, values in (numbers | {"baseline": baseline, "p": p}).items():
        columns[column] += [_number(value) for value in values.ravel()[filled].tolist()]
    columns["statistic"] += [statistic.name] * len(groups)
    columns["direction"] += [statistic.direction] * len(groups)


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
