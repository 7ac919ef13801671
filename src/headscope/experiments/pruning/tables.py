"""What pruning writes: curves, the order in which heads go, and the model that was made."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence import Int32, Table
from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import PartSizes, ScoreChange
from headscope.runs.record import OPTIONAL


@dataclass(frozen=True)
class RemovalRow:
    """When a head goes.

    Attributes:
        method: how heads were selected; draw: which of several random orders.
        place: in the order, 0 goes first.
    """

    method: str
    draw: Int32
    place: Int32
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32


NAMED = "choice of their names"
"""How heads were selected that a user has named."""
REMOVALS = Table("removals", RemovalRow)


@dataclass(frozen=True)
class Speedup:
    """How many times as fast, with a 95% interval over rounds."""

    times: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.times:.2f} times as fast [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class PrunedModel:
    """The model that was made.

    Attributes:
        by: the criterion; method: the criterion and how often it was computed.
        kept: heads that are left, of `heads`; removed: the names of the others.
        difference: largest difference of its outputs from those of the intact model with the same
            heads off, relative to the largest output.
        parameters: of the intact model and of the pruned one.
        test: its metrics on the held-out part; tuned: the same after fine-tuning.
        onnx: largest difference of the outputs of the ONNX file.
        timed: what its speed was measured at.
    """

    by: str
    method: str
    kept: int
    heads: int
    removed: list[str]
    difference: float
    parameters: tuple[int, int]
    speed: Speedup
    test: list[ScoreChange]
    tuned: list[ScoreChange] | None = None
    onnx: float | None = None
    timed: str = "reading"

    @property
    def final(self) -> list[ScoreChange]:
        """The metrics of the model as it was saved."""
        return self.tuned or self.test


@dataclass(frozen=True)
class PruningSummary:
    """What pruning has to say besides its rows.

    Attributes:
        intact: the metrics of the intact model on the held-out part.
        sizes: examples of each part.
        warnings: what a reader must know before using the model.
    """

    intact: list[Score]
    sizes: PartSizes
    pruned: PrunedModel
    warnings: list[str] = field(default_factory=list, metadata=OPTIONAL)

    @property
    def claim(self) -> str:
        """Heads removed, points lost, times as fast, with intervals; then the warnings."""
        pruned, unit = self.pruned, self.intact[0].difference_unit
        change, share = pruned.final[0], 1 - pruned.kept / pruned.heads
        tuned = ", after fine-tuning," if pruned.tuned else ""
        claim = (
            f"{share:.0%} of the heads removed ({pruned.kept} of {pruned.heads} are left){tuned} "
            f"by {pruned.method}; {change.metric} {_points(change.delta, self.intact[0])} "
            f"{unit.interval(change.low, change.high)} on {change.n:,} examples that had no part "
            f"in the choice; {pruned.speed}."
        )
        return " ".join([claim, *(f"Note: {warning}." for warning in self.warnings)])


def drop_warning(change: ScoreChange, intact: Score, max_drop: float) -> str | None:
    """A warning where the loss on the held-out part exceeds what was allowed on the other."""
    lost = -change.delta * intact.better
    if lost <= max_drop:
        return None
    return (
        f"the loss of {_points(lost, intact, '')} of {change.metric} on held-out examples is more "
        f"than --max-drop allows ({_points(max_drop, intact, '')}); the limit was applied to the "
        "examples that heads were chosen by"
    )


def _points(difference: float, score: Score, sign: str = "+") -> str:
    """A difference of a metric in words."""
    if score.share:
        return f"{100 * difference:{sign}.1f} points"
    return f"{difference:{sign}.3f}"
