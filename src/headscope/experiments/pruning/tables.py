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
class CertificationRow:
    """A test of whether so many heads may go (see `certification`).

    Attributes:
        loss: of the metric, on data that had no part in choosing the order; error: its standard
            error if it were what is allowed.
        p: of the null hypothesis that the loss exceeds what is allowed.
    """

    task: str
    metric: str
    method: str
    removed: Int32
    heads: Int32
    loss: float
    error: float
    p: float
    accepted: bool


CERTIFICATION = Table("certification", CertificationRow)


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
        random: the first metric without as many heads of each random order.
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
    random: list[float] = field(default_factory=list, metadata=OPTIONAL)

    @property
    def final(self) -> list[ScoreChange]:
        """The metrics of the model as it was saved."""
        return self.tuned or self.test


@dataclass(frozen=True)
class Refusal:
    """The first number of heads that the data could not vouch for.

    Attributes:
        loss: estimated; p: of the null hypothesis that it exceeds what is allowed.
        needed: about how many examples would be enough if the loss is as estimated; None: no
            number, because the estimate is not below what is allowed.
    """

    removed: int
    loss: float
    p: float
    needed: int | None = None


@dataclass(frozen=True)
class Promise:
    """What is promised of the loss on new data.

    Attributes:
        exact: whether the test is exact; else it is approximate.
        examples: that it was certified on.
        refusal: what ended the sequence of tests; None: all heads may go.
    """

    max_drop: float
    confidence: float
    exact: bool
    examples: int
    refusal: Refusal | None = None


@dataclass(frozen=True)
class PruningSummary:
    """What pruning has to say besides its rows.

    Attributes:
        intact: the metrics of the intact model on the held-out part.
        sizes: examples of each part.
        promise: where what may be lost was limited.
        warnings: what a reader must know before using the model.
    """

    intact: list[Score]
    sizes: PartSizes
    pruned: PrunedModel
    promise: Promise | None = None
    warnings: list[str] = field(default_factory=list, metadata=OPTIONAL)

    @property
    def claim(self) -> str:
        """The warnings, the promise; heads removed, points lost, times as fast, with intervals."""
        warnings = [f"Note: {warning}." for warning in self.warnings]
        promise = [] if self.promise is None else [self._promised(self.promise)]
        return " ".join([*warnings, *promise, self._measured])

    def _promised(self, promise: Promise) -> str:
        """What is promised, and what ended the sequence of tests."""
        intact, gone = self.intact[0], self.pruned.heads - self.pruned.kept
        limit = limit_in_words(promise.max_drop, intact)
        if gone == 0:
            return f"No head was removed. {self._refused(promise, limit)}"
        kind = "exact" if promise.exact else "approximate"
        of_what = " of the model before fine-tuning" if self.pruned.tuned else ""
        promised = (
            f"With {100 * promise.confidence:g}% confidence the loss{of_what} on new examples of "
            f"this kind is at most {limit} of {intact.metric} ({kind} test on {promise.examples:,} "
            "examples that had no part in choosing the order)."
        )
        return f"{promised} {self._refused(promise, limit)}".rstrip()

    def _refused(self, promise: Promise, limit: str) -> str:
        refusal = promise.refusal
        if refusal is None:
            return ""
        heads = "1 head" if refusal.removed == 1 else f"{refusal.removed} heads"
        lost = points(-refusal.loss * self.intact[0].better, self.intact[0])
        if refusal.needed is None:
            enough = "which is not below the limit: more examples alone would not help"
        else:
            enough = f"about {refusal.needed:,} examples would be needed to rule it out"
        return (
            f"Without {heads} a loss of more than {limit} cannot be ruled out on "
            f"{promise.examples:,} examples (estimated change {lost}, p = {refusal.p:.2g}; "
            f"{enough})."
        )

    @property
    def _measured(self) -> str:
        """Heads removed, points lost, times as fast, with intervals."""
        pruned, unit = self.pruned, self.intact[0].difference_unit
        change, share = pruned.final[0], 1 - pruned.kept / pruned.heads
        tuned = ", after fine-tuning," if pruned.tuned else ""
        return (
            f"{share:.0%} of the heads removed ({pruned.kept} of {pruned.heads} are left){tuned} "
            f"by {pruned.method}; {change.metric} {points(change.delta, self.intact[0])} "
            f"{unit.interval(change.low, change.high)} on {change.n:,} examples that had no part "
            f"in the choice; {pruned.speed}."
        )


def points(difference: float, score: Score, sign: str = "+") -> str:
    """A difference of a metric in words."""
    if score.share:
        return f"{100 * difference:{sign}.1f} points"
    return f"{difference:{sign}.3f}"


def limit_in_words(max_drop: float, score: Score) -> str:
    """The largest loss that is allowed, with as many digits as it has."""
    if not score.share:
        return f"{max_drop:g}"
    percent = round(100 * max_drop, 9)
    return f"{percent:.1f} points" if percent == round(percent, 1) else f"{percent:g} points"
