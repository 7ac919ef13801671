"""How many heads may go so that a promise holds: the loss on new data is at most what is allowed.

Growing numbers of heads are tested in turn along an order that other data have chosen; each null
hypothesis is that the loss exceeds what is allowed, and the first that is not rejected ends the
sequence. Every test may have the whole error rate, since the promise is broken only if the first
true null hypothesis is rejected (Angelopoulos et al. 2021, section 2.2, fixed sequence testing).
That holds for one sequence which is laid down beforehand: closer numbers must not be tried after a
wider one has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.loss_test import LossEstimate, LossTest

Floats = NDArray[np.float64]
STEPS = 24
"""Numbers of removed heads that are tested at most."""


@dataclass(frozen=True)
class Limit:
    """The largest loss that is allowed on new data, and with what confidence.

    >>> round(Limit(0.01, confidence=0.95).level, 3)
    0.05
    """

    max_drop: float
    confidence: float

    @property
    def level(self) -> float:
        """How often the promise may be broken."""
        return 1 - self.confidence


@dataclass(frozen=True)
class Step:
    """One test: whether so many heads may go."""

    removed: int
    estimate: LossEstimate
    accepted: bool


def removal_counts(total: int, steps: int = STEPS) -> list[int]:
    """The numbers of heads whose removal is tested, the smallest first.

    >>> removal_counts(6), removal_counts(144, steps=4)
    ([1, 2, 3, 4, 5, 6], [36, 72, 108, 144])
    """
    return sorted({round(total * step / steps) for step in range(1, steps + 1)} - {0})


def certify(
    counts: Sequence[int],
    predict: Callable[[int], Floats],
    test: LossTest,
    limit: Limit,
) -> Iterator[Step]:
    """Test growing numbers of removed heads until one is not accepted.

    Args:
        counts: numbers of heads, the smallest first, which do not depend on the data of the test.
        predict: from a number of removed heads to (example, ...) predictions on the data of the
            test; called only for numbers that are tested.

    >>> from headscope.evidence.metrics import ACCURACY
    >>> gold = np.ones(500)
    >>> test = LossTest(ACCURACY, gold, gold, [str(number) for number in range(500)])
    >>> broken = lambda removed: np.where(np.arange(500) < removed, 0.0, 1.0)
    >>> [step.removed for step in certify([1, 2, 9], broken, test, Limit(0.02, 0.95))]
    [1, 2, 9]
    """
    for removed in counts:
        estimate = test(predict(removed), limit.max_drop)
        accepted = estimate.p <= limit.level
        yield Step(removed, estimate, accepted)
        if not accepted:
            return


def certified(steps: Sequence[Step]) -> int:
    """How many heads may go by the tests of a sequence."""
    return max((step.removed for step in steps if step.accepted), default=0)
