"""Statistics: named tallies with a baseline, and the tidy rows that they become."""

from __future__ import annotations

import math
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
    NATS = "nats"  # entropy


@dataclass(frozen=True)
class Statistic:
    """A number per head (and per group), with what it would be for a head that knows nothing.

    Attributes:
        name: as it stands in the run folder.
        tally: (bucket, layer, head, group)
        baseline: (bucket, layer, 1, group), from the same examples.
        groups: what the tally's groups are (offsets, roles); empty where there is one.
        direction: null where it does not apply.
        about: what it means, in a sentence for a reader of the report.
        headlines: groups whose best head is worth a line in a summary, with the words for it
            (the empty string where there are no groups).
        label: what a head is called whose value in some group is at least `threshold`.
    """

    name: str
    tally: Tally
    baseline: Tally
    unit: Unit
    about: str
    groups: tuple[str, ...] = ()
    direction: str | None = None
    headlines: dict[str, str] = field(default_factory=dict)
    label: str | None = None
    threshold: float = 1.0

    def describe(self) -> dict[str, Any]:
        """What the run's record keeps, so that a reader knows what the numbers are."""
        return {
            "statistic": self.name,
            "direction": self.direction,
            "groups": list(self.groups),
            "unit": str(self.unit),
            "about": self.about,
            "headlines": self.headlines,
            "label": self.label,
            "threshold": self.threshold,
        }


def rows(statistic: Statistic, analysis: str, corpus: str, weights: str) -> Rows:
    """The rows of one statistic: per head, per layer (head null), for the model (both null).

    A layer's value pools its heads, the model's pools its layers: sums over sums.
    """
    table: Rows = {column: [] for column in COLUMNS}
    tally, base = statistic.tally, statistic.baseline
    for pooled in ((), (2,), (1, 2)):
        arrays = [tally.sums, tally.counts, base.sums, base.counts]
        parts = [part.sum(axis=pooled, keepdims=True) for part in arrays]
        places = np.indices(parts[0].shape[1:]).reshape(3, -1)
        layers = np.full(places.shape[1], -1) if 1 in pooled else places[0]
        heads = np.full(places.shape[1], -1) if 2 in pooled else places[1]
        _append(table, statistic, parts, (layers, heads, places[2]), tested=not pooled)
    return table | _constant(len(table["value"]), statistic, analysis, corpus, weights)


def best_rows(statistic: Statistic, analysis: str, corpus: str, weights: str) -> Rows:
    """The best head of each group, chosen on one half of the buckets and scored on the other.

    The head named is the one chosen on all data; value, interval and test are cross-fitted, so
    that the luck of the choice is not in them.
    """
    table: Rows = {column: [] for column in COLUMNS}
    tally, base = statistic.tally, statistic.baseline
    flat = [part.reshape(len(part), -1, part.shape[-1]) for part in (tally.sums, tally.counts)]
    chosen = [crossfit(part, *flat) for part in flat]  # (bucket, group) each
    with np.errstate(invalid="ignore", divide="ignore"):
        overall = _argmax(flat[0].sum(0) / flat[1].sum(0))
    heads = tally.sums.shape[2]
    known = [part.sum(axis=(1, 2)) for part in (base.sums, base.counts)]
    parts = [part[:, None, None] for part in (*chosen, *known)]
    groups = np.arange(len(overall))
    _append(table, statistic, parts, (overall // heads, overall % heads, groups), tested=True)
    return table | _constant(len(table["value"]), statistic, analysis, corpus, weights)


def crossfit(values: Floats, sums: Floats, counts: Floats) -> Floats:
    """(bucket, group) of `values` for the head that the other half of the buckets chooses.

    Args:
        values, sums, counts: (bucket, head, group); buckets are halved by parity.
    """
    picked = np.empty((values.shape[0], values.shape[2]))
    for half in (0, 1):
        with np.errstate(invalid="ignore", divide="ignore"):
            best = _argmax(sums[1 - half :: 2].sum(0) / counts[1 - half :: 2].sum(0))
        picked[half::2] = values[half::2, best, np.arange(len(best))]
    return picked


def _argmax(ratios: Floats) -> NDArray[np.int64]:
    """(group,) the head with the largest ratio of (head, group); NaN never wins."""
    return np.asarray(np.where(np.isnan(ratios), -np.inf, ratios).argmax(0))


def _constant(size: int, statistic: Statistic, analysis: str, corpus: str, weights: str) -> Rows:
    values: dict[str, str | None] = {"corpus": corpus, "weights": weights, "analysis": analysis}
    values |= {"statistic": statistic.name, "direction": statistic.direction}
    return {column: [value] * size for column, value in values.items()}


def _append(
    table: Rows,
    statistic: Statistic,
    parts: list[Floats],
    places: tuple[NDArray[np.int64], ...],
    tested: bool,
) -> None:
    """Add rows for (bucket, layer, head, group) parts; places: their layers, heads, groups."""
    sums, counts, base, base_counts = parts
    found = estimate(sums, counts, statistic.unit is Unit.SHARE)
    with np.errstate(invalid="ignore", divide="ignore"):
        baseline = np.broadcast_to(base.sum(0) / base_counts.sum(0), found.value.shape)
    p = q = np.full(found.value.shape, np.nan)
    if tested:
        p = difference(sums, counts, base, base_counts)[1]
        q = corrected(p)
    filled = found.n.ravel() > 0
    layers, heads, groups = (place[filled].tolist() for place in places)
    names = statistic.groups or (None,)
    table["layer"] += [None if layer < 0 else layer for layer in layers]
    table["head"] += [None if head < 0 else head for head in heads]
    table["group"] += [names[group] for group in groups]
    table["n"] += [int(n) for n in found.n.ravel()[filled]]
    columns = {"value": found.value, "low": found.low, "high": found.high}
    for column, values in (columns | {"baseline": baseline, "p": p, "q": q}).items():
        numbers = values.ravel()[filled].tolist()
        table[column] += [None if math.isnan(number) else number for number in numbers]
