"""A task on parts of data: one to choose heads by, one to state what the choice costs, and where a
loss is promised not to exceed a limit, one to certify that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.evidence.loss_test import LossTest
from headscope.evidence.metrics import Metric, Score
from headscope.evidence.paired import Effect, Paired, Resamples
from headscope.experiments._shared.head_curves import (
    CERTIFY,
    CHOICE,
    TEST,
    PartSizes,
    ScoreChange,
)
from headscope.experiments._shared.identity import task_record
from headscope.experiments._shared.mean_outputs import average_head_outputs
from headscope.model import Model, Replacement, disable
from headscope.tasks import Task, two_parts

Floats = NDArray[np.float64]
BUDGET = Budget(2048, 2048 * 128)


def choice_and_test(task: Task | str, choose: Task | None) -> tuple[Task, Task]:
    """The task to choose by and the task to state the loss on.

    Args:
        choose: what to choose by; None: see `tasks.two_parts`.
    """
    if choose is None:
        return two_parts(task) if isinstance(task, str) else task.halves()
    if isinstance(task, str):
        raise HeadscopeError("with a task to choose by, give the task itself (see headscope.task)")
    return choose, task


def check_apart(choice: Task, test: Task) -> None:
    """Raise an error unless two tasks are of one kind, on different data."""
    first, second = task_record(choice), task_record(test)
    if (first.data.sha256, first.half) == (second.data.sha256, second.half):
        raise HeadscopeError(
            f"{choice.name} to choose by is the very data that {test.name} is evaluated on; give "
            "other data (--choose)"
        )
    if choice.top is not test.top or choice.metrics[0] is not test.metrics[0]:
        raise HeadscopeError(
            f"{choice.name} ({choice.metrics[0].name}) cannot choose for {test.name} "
            f"({test.metrics[0].name}): another kind of task"
        )


@dataclass
class HeldOut:
    """A model on the parts of a task, by name; heads may be switched off.

    Attributes:
        how: output substituted for a head that is off: zero, or its mean over the choosing data.
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
        return len(self.model.places)

    @property
    def metric(self) -> Metric:
        """The metric that heads are chosen by."""
        return self.parts[TEST].metrics[0]

    @property
    def sizes(self) -> PartSizes:
        """Examples of each part."""
        sizes = {name: len(cases) for name, cases in self.cases.items()}
        return PartSizes(sizes[CHOICE], sizes[TEST], sizes.get(CERTIFY, 0))

    @cached_property
    def means(self) -> Tensor | None:
        """(layer, head, size) mean output of heads on the choosing data; None for `ZERO`."""
        if self.how is not Replacement.MEAN:
            return None
        return average_head_outputs(self.model, self.parts[CHOICE], self.cases[CHOICE], BUDGET)

    @cached_property
    def intact(self) -> dict[str, Floats]:
        """(case,) predictions of the intact model, by part."""
        return {name: self.predict(self.model, name) for name in self.parts}

    def predict(self, model: Model, part: str) -> Floats:
        """(case,) predictions of a model with the same tokenizer."""
        return self.parts[part].predict(model, self.cases[part], BUDGET)

    def predict_without(
        self, heads: Sequence[tuple[int, int]], part: str, model: Model | None = None
    ) -> Floats:
        """(case,) predictions without some heads, each a (layer, head) pair."""
        model = model or self.model
        with disable(model, heads, self.how, self.means):
            return self.predict(model, part)

    def effect(self, predictions: Floats, part: str, metric: Metric | None = None) -> Effect:
        """What a metric gains by other predictions than the intact model's."""
        metric = metric or self.parts[part].metrics[0]
        key = (part, metric.name)
        if key not in self._paired:
            cases = self.cases[part]
            gold = np.array([case.gold for case in cases])
            resamples = Resamples([case.example.unit for case in cases], seed=self.seed)
            self._paired[key] = Paired.of(metric, self.intact[part], gold, resamples)
        return self._paired[key].effect(predictions)

    def loss_test(self, part: str) -> LossTest:
        """The test that the metric loses no more than is allowed."""
        cases = self.cases[part]
        gold = np.array([case.gold for case in cases])
        units = [case.example.unit for case in cases]
        return LossTest(self.metric, self.intact[part], gold, units)

    def score_changes(self, predictions: Floats, part: str) -> list[ScoreChange]:
        """Every metric, with its paired difference from the intact model."""
        task, changes = self.parts[part], []
        for metric in task.metrics:
            effect = self.effect(predictions, part, metric)
            changes.append(
                ScoreChange(
                    task.name,
                    metric.name,
                    self.total,
                    effect.value,
                    effect.delta,
                    effect.low,
                    effect.high,
                    len(predictions),
                    effect.changed,
                )
            )
        return changes

    def scores(self) -> list[Score]:
        """The metrics of the intact model on the held-out part (see `Task.score`)."""
        return self.parts[TEST].score(self.intact[TEST], self.cases[TEST], self.seed)
