"""Metrics of tasks, each for many weightings of the examples at once.

A resample of the examples is a weighting (how often each was drawn), so the bootstrap of any
metric is one call. Weights are (resample, example); predictions and gold are (example,).
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


class Kind(StrEnum):
    """What a metric compares."""

    CLASSES = "classes"  # the number of the class
    SCORES = "scores"  # a graded score
    LOSS = "loss"  # summed losses and how many were summed


@dataclass(frozen=True)
class Score:
    """A model's metric on a task.

    Attributes:
        error: the standard error.
        better: 1 where more is better, -1 where less is.
        share: whether it is shown in per cent.
        nothing: what always predicting the commonest class would score; None: no such.
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
        """Of the metric itself."""
        return Unit.SHARE if self.share else Unit.NATS

    @property
    def difference_unit(self) -> Unit:
        """Of differences of the metric."""
        return Unit.POINTS if self.share else Unit.NATS_GAINED


@dataclass(frozen=True)
class Metric:
    """A metric of a task.

    Attributes:
        formula: (predictions, gold, weights) -> (resample,)
        better: 1 where more is better, -1 where less is.
        share: whether it is shown in per cent.

    >>> ACCURACY(np.array([1, 0, 1]), np.array([1, 1, 1]))
    0.6666666666666666
    """

    name: str
    kind: Kind
    formula: Formula
    better: int = 1
    share: bool = True

    def __call__(self, predictions: Floats, gold: Floats) -> float:
        """The metric on all examples, each once."""
        return float(self.formula(predictions, gold, np.ones((1, len(gold))))[0])


def accuracy(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The share of examples that are right."""
    return np.asarray(weights @ (predictions == gold).astype(float) / weights.sum(1))


def f1(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The harmonic mean of precision and recall of class 1; 0 where nothing is found."""
    both, found, there = (
        weights @ part.astype(float)
        for part in ((predictions == 1) & (gold == 1), predictions == 1, gold == 1)
    )
    return np.asarray(2 * both / np.maximum(found + there, 1e-300))


def matthews(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Matthews' correlation of two classes; 0 where either side has one class only."""
    return pearson((predictions == 1).astype(float), (gold == 1).astype(float), weights)


def pearson(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Pearson's correlation; 0 where one side does not vary."""
    return _correlation(predictions[None], gold[None], weights)


def spearman(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """Spearman's correlation: Pearson's of the ranks that the weighted examples have."""
    return _correlation(ranks(predictions, weights), ranks(gold, weights), weights)


def loss(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The mean loss: predictions are summed losses, gold says how many were summed."""
    return weights @ predictions / (weights @ gold)


def ranks(values: Floats, weights: Floats) -> Floats:
    """(resample, example) ranks where example i stands weights[i] times; ties share theirs.

    >>> ranks(np.array([5.0, 7.0, 5.0]), np.ones((1, 3)))
    array([[1.5, 3. , 1.5]])
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-np.inf))
    group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middles = np.cumsum(sizes, axis=1) - sizes / 2 + 0.5
    made = np.empty_like(weights)
    made[:, order] = middles[:, group]
    return made


def _correlation(one: Floats, other: Floats, weights: Floats) -> Floats:
    """(resample,) weighted correlation of (resample or 1, example) arrays."""
    total = weights.sum(1, keepdims=True)
    one = one - (weights * one).sum(1, keepdims=True) / total
    other = other - (weights * other).sum(1, keepdims=True) / total
    together = (weights * one * other).sum(1)
    apart = np.sqrt((weights * one**2).sum(1) * (weights * other**2).sum(1))
    floor = 1e-12 * total[:, 0]
    return np.where(apart > floor, together / np.maximum(apart, 1e-300), 0.0)


ACCURACY = Metric("accuracy", Kind.CLASSES, accuracy)
F1 = Metric("F1", Kind.CLASSES, f1)
MATTHEWS = Metric("Matthews", Kind.CLASSES, matthews)
PEARSON = Metric("Pearson", Kind.SCORES, pearson)
SPEARMAN = Metric("Spearman", Kind.SCORES, spearman)
LOSS = Metric("loss", Kind.LOSS, loss, better=-1, share=False)
