"""What an ablation writes: a row for everything that was switched off, and its summary."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence import Int32, Table
from headscope.evidence.metrics import Score
from headscope.runs import RunResults


@dataclass(frozen=True)
class AblationRow:
    """What a metric is without a head, a layer or a set of heads.

    Attributes:
        unit: `head`, `layer` or `set`; name: of what is off.
        value: the metric without it; delta, low, high: the paired difference from the intact
            model, with its 95% interval.
        n: examples it was tried on; changed: of how many the prediction differs.
        verdict: `helps`, `hurts`, `nothing` or `unclear`.
    """

    task: str
    metric: str
    unit: str
    name: str
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32 | None
    head: Int32 | None
    value: float
    delta: float
    low: float
    high: float
    p: float
    q: float
    n: int
    changed: int
    verdict: str

    def gain(self, better: int) -> float:
        """What the task gains without it: more is better whatever the metric."""
        return better * self.delta


ABLATION = Table("ablation", AblationRow)


@dataclass(frozen=True)
class AblationSummary:
    """What an ablation has to say besides its rows.

    Attributes:
        intact: the metrics of the intact model.
        margin: effects smaller than this count as no effect.
    """

    intact: list[Score]
    examples: int
    margin: float
    warnings: list[str] = field(default_factory=list)


def intact_score(results: RunResults) -> Score:
    """The first metric of the intact model."""
    return results.record.summary_as(AblationSummary).intact[0]


def gains(results: RunResults) -> dict[tuple[int, int], float]:
    """What the first metric gains without each head, by layer and head."""
    intact = intact_score(results)
    return {
        (row.layer, row.head): row.gain(intact.better)
        for row in results.rows(ABLATION, metric=intact.metric, unit="head")
        if row.layer is not None and row.head is not None
    }
