"""Curves of a task's metric over the number of heads kept: what pruning and gates both write."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope.evidence import Int32, Table
from headscope.runs.record import OPTIONAL

CHOICE, CERTIFY, TEST = "choice", "certify", "test"
"""The part of the data that heads are chosen on, the part on which the number of removed heads is
certified, if it is, and the held-out part.
"""


@dataclass(frozen=True)
class PartSizes:
    """Examples that heads are chosen on, held-out examples, and those that certify a number."""

    choice: int
    test: int
    certify: int = field(default=0, metadata=OPTIONAL)


@dataclass(frozen=True)
class ScoreChange:
    """A metric without some heads, and its paired difference from the intact model.

    Attributes:
        heads: heads of the intact model.
        delta, low, high: the difference, with its 95% interval.
        n: examples; changed: of how many the prediction differs.
    """

    task: str
    metric: str
    heads: int
    value: float
    delta: float
    low: float
    high: float
    n: int
    changed: int


@dataclass(frozen=True)
class PruningRow:
    """A point of a curve: a metric with some heads kept (see `ScoreChange`).

    Attributes:
        method: how heads were selected.
        part: `test`, `choice` or `certify`.
        draw: which of several random orders, or which seed of the gates.
    """

    task: str
    metric: str
    method: str
    part: str
    draw: Int32
    kept: Int32
    heads: Int32
    value: float
    delta: float
    low: float
    high: float
    n: int
    changed: int

    @classmethod
    def of(cls, change: ScoreChange, method: str, part: str, draw: int, kept: int) -> PruningRow:
        """The point of a curve at which a metric was measured."""
        return cls(method=method, part=part, draw=draw, kept=kept, **vars(change))


PRUNING = Table("pruning", PruningRow)
