"""A task on two parts of data: one to choose something by, one to state what the choice costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import Metric, Score
from headscope.evidence.paired import Effect, Paired, Resamples
from headscope.experiments._shared.identity import task_record
from headscope.experiments.ablation.compute import mean_outputs
from headscope.model import Model, Replacement, disable
from headscope.tasks import Task

Floats = NDArray[np.float64]
BUDGET = Budget(2048, 2048 * 128)
CHOICE, TEST = "choice", "test"
"""The part of the data that heads are chosen on, and the part that had no say in it."""


def check_apart(choice: Task, test: Task) -> None:
    """What something is chosen by must be other data than what it is tried on, of the same kind."""
    first, second = task_record(choice), task_record(test)
    if (first.data.sha256, first.half) == (second.data.sha256, second.half):
        raise HeadscopeError(
            f"{choice.name} to choose by is the very data that {test.name} is tried on; give other "
            "data (--choose)"
        )
    if choice.top is not test.top or choice.metrics[0] is not test.metrics[0]:
        raise HeadscopeError(
            f"{choice.name} ({choice.metrics[0].name}) cannot choose for {test.name} "
            f"({test.metrics[0].name}): another kind of task"
        )


@dataclass
class HeldOut:
    """A model on the two parts of a task, by name; heads may be off.

    Attributes:
        how: what a head gives that is off: zero, or its mean over the choosing data.
    """

    model: Model
    parts: dict[str, Task]
    how: Replacement = Replacement.ZERO
    max_length: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_apart(self.parts[CHOICE], self.parts[TEST])
        self.cases = {
            name: part.cases(self.model, part.examples, self.max_length)
            for name, part in self.parts.items()
        }
        self._paired: dict[tuple[str, str], Paired] = {}

    @property
    def total(self) -> int:
        """Heads of all layers."""
        return self.model.layers * self.model.heads

    @property
    def metric(self) -> Metric:
        """The metric that is looked at."""
        return self.parts[TEST].metrics[0]

    @cached_property
    def means(self) -> Tensor | None:
        """(layer, head, size) what heads give on average on the choosing data, where asked for."""
        if self.how is not Replacement.MEAN:
            return None
        return mean_outputs(self.model, self.parts[CHOICE], self.cases[CHOICE], BUDGET)

    @cached_property
    def intact(self) -> dict[str, Floats]:
        """(case,) of each part what the intact model predicts."""
        return {name: self.predicted(self.model, name) for name in self.parts}

    def predicted(self, model: Model, part: str) -> Floats:
        """(case,) what another model with the same tokenizer predicts."""
        return self.parts[part].predict(model, self.cases[part], BUDGET)

    def tried(
        self, off: Sequence[tuple[int, int]], part: str, model: Model | None = None
    ) -> Floats:
        """(case,) what is predicted without some heads."""
        model = model or self.model
        with disable(model, off, self.how, self.means):
            return self.predicted(model, part)

    def effect(self, predictions: Floats, part: str, metric: Metric | None = None) -> Effect:
        """What a metric gains by other predictions than the intact model's."""
        metric = metric or self.parts[part].metrics[0]
        key = (part, metric.name)
        if key not in self._paired:
            cases = self.cases[part]
            gold = np.array([case.gold for case in cases])
            drawn = Resamples([case.example.unit for case in cases], seed=self.seed)
            self._paired[key] = Paired.of(metric, self.intact[part], gold, drawn)
        return self._paired[key].effect(predictions)

    def scores(self) -> list[Score]:
        """The metrics of the intact model on the part that had no say (see `Task.score`)."""
        return self.parts[TEST].score(self.intact[TEST], self.cases[TEST], self.seed)
