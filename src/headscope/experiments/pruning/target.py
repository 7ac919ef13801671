"""What a user wants of a pruned model: how many heads, selected how, and what is done with it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from headscope._util.shares import parse_share
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import Metric
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.pruning.certification import Limit
from headscope.model.replacement import Replacement, parse_replacement

CONFIDENCE = 0.95
"""Confidence of what is promised of the loss."""


class Criterion(StrEnum):
    """What heads are selected by."""

    IMPORTANCE = "importance"  # sensitivity of the loss (Michel et al. 2019)
    ABLATION = "ablation"  # what the metric loses without each head
    GATES = "gates"  # how long their gates stay open (Voita et al. 2019)
    RANDOM = "random"


@dataclass(frozen=True)
class Selection:
    """A criterion, with the scores of heads computed once, or again after every few removals.

    >>> str(Selection(Criterion.IMPORTANCE)), str(Selection(Criterion.IMPORTANCE, 7))
    ('importance', 'importance, again after 7')
    """

    criterion: Criterion
    step: int | None = None

    def __str__(self) -> str:
        again = "" if self.step is None else f", again after {self.step}"
        return f"{self.criterion}{again}"


@dataclass(frozen=True)
class PruningTarget:
    """What a user wants of the pruned model; all but `onnx` identifies the study.

    Attributes:
        keep: the share of heads to keep; or
        max_drop: what the metric may lose on new data, as a number or as text ("1%"), with this
            confidence; or
        heads: the names of the heads to remove.
        by: the criterion that heads are removed by; beside: others whose curves are drawn for
            comparison.
        how: output substituted for a removed head: `zero`, or its `mean`.
        step: compute the scores of heads again after this many removals.
        tune: epochs of fine-tuning afterwards.
        schedule: of the gates.
        onnx: write an ONNX file as well.
    """

    keep: float | None = None
    max_drop: float | str | None = None
    confidence: float = CONFIDENCE
    heads: str | None = None
    by: str = "importance"
    beside: tuple[str, ...] = ("random",)
    how: str = "zero"
    step: int | None = None
    tune: float = 0.0
    schedule: Schedule = field(default_factory=Schedule)
    max_length: int | None = None
    seed: int = 0
    onnx: bool = True

    def __post_init__(self) -> None:
        if [self.keep, self.max_drop, self.heads].count(None) != 2:
            raise HeadscopeError(
                "say how many heads to keep (--keep), what may be lost (--max-drop) or which heads "
                "to remove (--heads), one of the three"
            )
        if self.keep is not None and not 0 <= self.keep <= 1:
            raise HeadscopeError(f"--keep is a share of the heads, 0 to 1, not {self.keep}")
        if self.limit is not None and not 0 <= self.limit.max_drop < math.inf:
            raise HeadscopeError(f"--max-drop is what may be lost, 0 or more, not {self.max_drop}")
        if not 0.5 < self.confidence < 1:
            raise HeadscopeError(
                f"--confidence is above 50% and below 100% (95% or 0.95), not {self.confidence:g}"
            )
        if self.replacement is Replacement.UNIFORM:
            raise HeadscopeError("a head that is removed gives zero, or its mean (--how)")
        if self.step is not None and self.step < 1:
            raise HeadscopeError(f"--step is a number of heads, 1 or more, not {self.step}")
        self._check_criteria()

    def _check_criteria(self) -> None:
        for name in (self.by, *self.beside):
            if name not in list(Criterion):
                raise HeadscopeError(f"heads are selected by {', '.join(Criterion)}, not {name!r}")
        if self.by == Criterion.RANDOM:
            raise HeadscopeError("heads are not removed at random; random is for comparison only")
        if self.step is not None and self.by == Criterion.GATES:
            raise HeadscopeError("gates are trained once; --step is for importance and ablation")

    def check_metric(self, metric: Metric) -> None:
        """Raise an error for a drop that this metric cannot have, or that allows everything."""
        if self.limit is None:
            return
        if metric.share and self.limit.max_drop >= 1:
            raise HeadscopeError(
                f"--max-drop is a share of {metric.name}, 0 to 1 and less than all of it (0.005 or "
                f"0.5% for half a point), not {self.max_drop}"
            )
        if not metric.share and str(self.max_drop).endswith("%"):
            raise HeadscopeError(
                f"--max-drop is in the unit of {metric.name}, which is not a share (a plain number "
                f"such as 0.05), not {self.max_drop}"
            )

    @property
    def limit(self) -> Limit | None:
        """What may be lost on new data, if that decides how many heads go."""
        if self.max_drop is None:
            return None
        try:
            return Limit(parse_share(str(self.max_drop)), self.confidence)
        except ValueError:
            raise HeadscopeError(
                f"--max-drop is a share such as 0.5% or 0.005, 0 or more, not {self.max_drop!r}"
            ) from None

    @property
    def replacement(self) -> Replacement:
        """Output substituted for a removed head."""
        return parse_replacement(self.how)

    @property
    def selections(self) -> list[Selection]:
        """The selection that heads are removed by, then the others; with a step, the same
        criterion without one is among them.
        """
        by = Criterion(self.by)
        others = (Selection(Criterion(name)) for name in self.beside)
        once = [] if self.step is None else [Selection(by)]
        return list(dict.fromkeys([Selection(by, self.step), *once, *others]))

    def options(self) -> dict[str, Any]:
        """The options that identify the study."""
        plain = asdict(self)
        unset = {"onnx"} | ({"heads"} if self.heads is None else set())
        if self.limit is None:
            unset |= {"confidence"}
        else:
            plain["max_drop"] = self.limit.max_drop
        return {name: value for name, value in plain.items() if name not in unset}
