"""The two tables that every run with numbers per head has: `heads` and `best`."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF, head_name
from headscope.evidence.interval import ALPHA
from headscope.evidence.table import Int32, Table
from headscope.evidence.unit import Unit


@dataclass(frozen=True)
class HeadRow:
    """The value of a statistic for a head, a layer (head None) or the model (both None).

    Attributes:
        corpus, weights: the corpus, and which model of the run.
        attention: of which kind; `self` in a model of one stack, `all` for all kinds together.
        value, low, high: the value with its 95% interval.
        n: number of observations.
        baseline: the value of an uninformed head.
        p, q: p-value of the test against the baseline, and corrected for multiple tests.
        null_low, null_high: around the baseline, what heads that know nothing reach; the test is
            whether the value is beyond. None where it is against the baseline itself.
    """

    corpus: str
    weights: str
    analysis: str
    statistic: str
    group: str | None
    direction: str | None
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32 | None
    head: Int32 | None
    value: float
    low: float | None
    high: float | None
    n: int
    baseline: float | None
    p: float | None
    q: float | None
    null_low: float | None = field(default=None, kw_only=True)
    null_high: float | None = field(default=None, kw_only=True)

    @property
    def sure(self) -> bool:
        """Whether the corrected test is significant."""
        return self.q is not None and self.q < ALPHA

    @property
    def name(self) -> str:
        """The name of what it is the value of."""
        return head_name(self.layer, self.head, self.attention)

    @property
    def place(self) -> tuple[int, int]:
        """Layer and head of a row that belongs to a head."""
        assert self.layer is not None
        assert self.head is not None
        return self.layer, self.head

    def interval(self, unit: Unit) -> str:
        """The interval as text."""
        return unit.interval(self.low, self.high)


@dataclass(frozen=True)
class BestHead(HeadRow):
    """The best head of a group, selected on one half of the documents and scored on the other."""

    layer: Int32
    head: Int32


HEADS = Table("heads", HeadRow)
BEST = Table("best", BestHead)
