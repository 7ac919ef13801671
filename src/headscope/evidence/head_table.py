"""The two tables that every run with numbers per head has: `heads` and `best`."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.evidence.table import Int32, Table
from headscope.evidence.unit import Unit

SURE = 0.05
"""A corrected p-value below this counts."""


@dataclass(frozen=True)
class HeadRow:
    """One number: of a head, of a layer (head None), or of the model (both None).

    Attributes:
        corpus, weights: what it was measured on, and of which model of the run.
        value, low, high: the value with its 95% interval.
        n: observations.
        baseline: what a head that knows nothing would have.
        p, q: of the test against the baseline, and corrected.
    """

    corpus: str
    weights: str
    analysis: str
    statistic: str
    group: str | None
    direction: str | None
    layer: Int32 | None
    head: Int32 | None
    value: float
    low: float | None
    high: float | None
    n: int
    baseline: float | None
    p: float | None
    q: float | None

    @property
    def sure(self) -> bool:
        """Whether a corrected test says that the value is not what was to be expected."""
        return self.q is not None and self.q < SURE

    @property
    def place(self) -> tuple[int, int]:
        """Layer and head, of a row of a head."""
        assert self.layer is not None
        assert self.head is not None
        return self.layer, self.head

    def interval(self, unit: Unit) -> str:
        """Its interval in words."""
        return unit.interval(self.low, self.high)


@dataclass(frozen=True)
class BestHead(HeadRow):
    """The best head of a group, chosen on one half of the documents and scored on the other."""

    layer: Int32
    head: Int32


HEADS = Table("heads", HeadRow)
BEST = Table("best", BestHead)
