"""Task metrics, each computed for many weightings of the examples at once.

A bootstrap resample is a weighting of the examples (how often each was drawn), so the bootstrap
of any metric is one call. Weights are (resample, example); predictions and gold are (example,).
Where a task gives several numbers per example, predictions are (example, number).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.unit import Unit

Floats = NDArray[np.float64]
Formula = Callable[[Floats, Floats, Floats], Floats]


class MetricKind(StrEnum):
    """What the predictions of a metric are."""

    CLASSES = "classes"  # class numbers
    SCORES = "scores"  # graded scores
    LOSS = "loss"  # summed losses; gold is the number of terms
    COUNTS = "counts"  # several numbers per example, whose sums over examples make the metric


@dataclass(frozen=True)
class Score:
    """The value of a metric for a model on a task.

    Attributes:
        low, high: bounds of the 95% interval.
        error: the standard error.
        n: number of examples.
        better: 1 if higher is better, -1 if lower is better.
        share: whether it is displayed as a percentage.
        nothing: the score of always predicting the most frequent class; None if there is none.
    """

    metric: str
    value: float
    low: float
    high: float
    error: float
    n: int
    better: int
    share: bool
    nothing: float | None

    @property
    def unit(self) -> Unit:
        """The unit of the metric."""
        if self.metric in UNITS:
            return UNITS[self.metric][0]
        return Unit.SHARE if self.share else Unit.NATS

    @property
    def difference_unit(self) -> Unit:
        """The unit of differences of the metric."""
        if self.metric in UNITS:
            return UNITS[self.metric][1]
        return Unit.POINTS if self.share else Unit.NATS_GAINED


@dataclass(frozen=True)
class Metric:
    """A metric of a task.

    Attributes:
        formula: (predictions, gold, weights) -> (resample,)
        better: 1 if higher is better, -1 if lower is better.
        share: whether it is displayed as a percentage.
        columns: which numbers of a prediction it is about, where there are several.

    >>> ACCURACY(np.array([1, 0, 1]), np.array([1, 1, 1]))
    0.6666666666666666
    """

    name: str
    kind: MetricKind
    formula: Formula
    better: int = 1
    share: bool = True
    columns: slice | None = None

    def __call__(self, predictions: Floats, gold: Floats) -> float:
        """The metric on all examples, equally weighted."""
        return float(self.weighted(predictions, gold, np.ones((1, len(gold))))[0])

    def weighted(self, predictions: Floats, gold: Floats, weights: Floats) -> Floats:
        """(resample,) the metric for each weighting of the examples."""
        if self.columns is not None:
            predictions = predictions[:, self.columns]
        return self.formula(predictions, gold, weights)


def accuracy(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The share of correct predictions."""
    return np.asarray(weights @ (predictions == gold).astype(float) / weights.sum(1))


def f1(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """F1 of class 1, the harmonic mean of precision and recall; 0 without true positives."""
    correct, predicted, actual = (
        weights @ part.astype(float)
        for part in ((predictions == 1) & (gold == 1), predictions == 1, gold == 1)
    )
    return np.asarray(2 * correct / np.maximum(predicted + actual, 1e-300))


def matthews(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Matthews correlation of two classes; 0 if predictions or gold have a single class."""
    return pearson((predictions == 1).astype(float), (gold == 1).astype(float), weights)


def pearson(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Pearson's correlation; 0 if predictions or gold are constant."""
    return _correlation(predictions[None], gold[None], weights)


def spearman(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Spearman's correlation: Pearson's correlation of the weighted ranks."""
    return _correlation(
        weighted_ranks(predictions, weights), weighted_ranks(gold, weights), weights
    )


def mean_loss(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The mean loss: predictions are sums of losses, gold their numbers of terms."""
    return weights @ predictions / (weights @ gold)


def perplexity(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The exponential of the mean loss: as many tokens seem equally likely."""
    return np.exp(mean_loss(predictions, gold, weights))


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """(resample, example) ranks if example i occurs weights[i] times; ties get their mean rank.

    >>> weighted_ranks(np.array([5.0, 7.0, 5.0]), np.ones((1, 3)))
    array([[1.5, 3. , 1.5]])
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-np.inf))
    group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middles = np.cumsum(sizes, axis=1) - sizes / 2 + 0.5
    ranks = np.empty_like(weights)
    ranks[:, order] = middles[:, group]
    return ranks


def _correlation(x: Floats, y: Floats, weights: Floats) -> Floats:
    """(resample,) weighted correlation of (resample or 1, example) arrays."""
    total = weights.sum(1, keepdims=True)
    x = x - (weights * x).sum(1, keepdims=True) / total
    y = y - (weights * y).sum(1, keepdims=True) / total
    covariance = (weights * x * y).sum(1)
    scale = np.sqrt((weights * x**2).sum(1) * (weights * y**2).sum(1))
    floor = 1e-12 * total[:, 0]
    return np.where(scale > floor, covariance / np.maximum(scale, 1e-300), 0.0)


ACCURACY = Metric("accuracy", MetricKind.CLASSES, accuracy)
F1 = Metric("F1", MetricKind.CLASSES, f1)
MATTHEWS = Metric("Matthews", MetricKind.CLASSES, matthews)
PEARSON = Metric("Pearson", MetricKind.SCORES, pearson)
SPEARMAN = Metric("Spearman", MetricKind.SCORES, spearman)
LOSS = Metric("loss", MetricKind.LOSS, mean_loss, better=-1, share=False)
PERPLEXITY = Metric("perplexity", MetricKind.LOSS, perplexity, better=-1, share=False)
UNITS = {PERPLEXITY.name: (Unit.PERPLEXITY, Unit.PERPLEXITY_GAINED)}
"""Units of metrics, and of their differences, that are neither shares nor nats."""
