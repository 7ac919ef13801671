"""What a run of gates writes: every gate at every penalty, and the metric by the open heads."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence import Int32, Table
from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import PartSizes
from headscope.runs import RunResults


@dataclass(frozen=True)
class GateRow:
    """The gate of a head after training with a penalty.

    Attributes:
        chance: the probability that the gate is not exactly 0.
        open: whether the gate is open when nothing is drawn at random.
    """

    task: str
    seed: Int32
    penalty: float
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    chance: float
    open: bool


GATES = Table("gates", GateRow)


@dataclass(frozen=True)
class GatesSummary:
    """What a run of gates has to say besides its rows.

    Attributes:
        intact: the metrics of the intact model on the held-out part.
        sizes: examples of each part.
    """

    intact: list[Score]
    sizes: PartSizes


def open_shares(results: RunResults) -> dict[tuple[int, int], float]:
    """By layer and head, the share of penalties and seeds at which the gate is open."""
    states: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for row in results.rows(GATES):
        states[row.layer, row.head].append(row.open)
    return {place: sum(open_) / len(open_) for place, open_ in states.items()}
