"""How well two columns of labels agree, over the four frequent shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score

from headscope.analyses._shapes.classifier import SHAPES

FREQUENT = [place for place, shape in enumerate(SHAPES) if shape != "block"]
"""The four shapes that scores are averaged over: few heads show blocks."""
VERTICAL, HETEROGENEOUS = SHAPES.index("vertical"), SHAPES.index("heterogeneous")
RESAMPLES = 1000
Labels = NDArray[np.int64]


def macro_f1(label: Labels, guess: Labels) -> float:
    """Mean F1 of the four frequent shapes; a map that is wrongly called a block counts as missed.

    >>> macro_f1(np.array([0, 1, 2, 4]), np.array([0, 1, 2, 3]))
    0.75
    """
    return float(f1_score(label, guess, labels=FREQUENT, average="macro", zero_division=0))


def flag_f1(label: Labels, guess: Labels) -> float:
    """F1 of the flag `matching`."""
    return float(f1_score(label, guess, zero_division=0))


def each_f1(label: Labels, guess: Labels) -> list[float]:
    """F1 of each shape."""
    each = f1_score(label, guess, labels=range(len(SHAPES)), average=None, zero_division=0)
    return [float(value) for value in each]


def confused(label: Labels, guess: Labels) -> int:
    """Number of maps that one calls vertical and the other heterogeneous."""
    pair = {VERTICAL, HETEROGENEOUS}
    return sum(
        {one, other} == pair for one, other in zip(label.tolist(), guess.tolist(), strict=True)
    )


def interval(score: Callable[[Labels], float], head: NDArray[np.str_]) -> tuple[float, float]:
    """The 95% interval of a score by a bootstrap over heads.

    Args:
        score: of some places in the columns that are compared.
        head: (place,) the head of each.
    """
    rng, heads = np.random.default_rng(0), np.unique(head)
    places = [np.nonzero(head == one)[0] for one in heads]
    values = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(heads), len(heads)).tolist()
        values.append(score(np.concatenate([places[n] for n in chosen])))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def table(label: Labels, guess: Labels, classes: tuple[str, ...] = SHAPES) -> Iterator[str]:
    """Lines of a confusion matrix: a row for each label, a column for each guess."""
    counts = confusion_matrix(label, guess, labels=range(len(classes)))
    for name, row in zip(classes, counts.tolist(), strict=True):
        yield f"  {name:18}" + "".join(f"{count:6}" for count in row)
