"""What an importance run writes: a row per head, and how stable their ranking is."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence import Int32, Table


@dataclass(frozen=True)
class ImportanceRow:
    """The importance of a head for a task.

    Attributes:
        normalised: divided by the root of the summed squares of its layer.
        rank: 1 for the most important head; rank_low, rank_high: its 95% interval.
        n: examples.
    """

    task: str
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    value: float
    low: float
    high: float
    normalised: float
    rank: Int32
    rank_low: Int32
    rank_high: Int32
    n: int


IMPORTANCE = Table("importance", ImportanceRow)


@dataclass(frozen=True)
class ImportanceSummary:
    """What an importance run has to say besides its rows.

    Attributes:
        stability: agreement of the rankings on two random halves of the documents, mean Spearman.
    """

    stability: float
