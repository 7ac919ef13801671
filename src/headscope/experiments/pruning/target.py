"""What a user wants of a pruned model: how many heads, selected how, and what is done with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from headscope.errors import HeadscopeError
from headscope.evidence.metrics import Metric
from headscope.experiments.gates.schedule import Schedule
from headscope.model.replacement import Replacement, parse_replacement


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
        max_drop: what the metric may lose on the choosing data; or
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
    max_drop: float | None = None
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
        if self.max_drop is not None and not self.max_drop >= 0:
            raise HeadscopeError(f"--max-drop is what may be lost, 0 or more, not {self.max_drop}")
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
        """Raise an error for a drop that no value of this metric can have."""
        if self.max_drop is not None and metric.share and self.max_drop > 1:
            raise HeadscopeError(
                f"--max-drop is a share of {metric.name}, 0 to 1 (0.005 or 0.5% for half a point), "
                f"not {self.max_drop:g}"
            )

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
        return {name: value for name, value in plain.items() if name not in unset}
