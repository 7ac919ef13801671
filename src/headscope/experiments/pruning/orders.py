"""In which order heads go: by importance, by ablation, by gates, or at random.

Importance and ablation score each head in the model as it is; after some heads have gone the
others may matter more or less, so the scores can be computed again after every few removals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope._util.progress import NoProgress
from headscope.experiments.ablation.compute import PREDICTIONS, Ablation
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.gates.training import Gating, open_durations
from headscope.experiments.importance.compute import Importance
from headscope.experiments.pruning.target import Criterion
from headscope.model import Model, Replacement, disable
from headscope.runs import run
from headscope.tasks import Task

Floats = NDArray[np.float64]
Order = list[int]
"""All heads, numbered through the layers, the first to go first."""
TINY = 1e-12
Scores = Callable[[Sequence[int]], Floats]
"""From the heads that are gone to the score of each head; the lowest go first."""


def order_by(scores: Scores, total: int, step: int | None = None) -> Order:
    """Heads by their scores, the lowest first.

    Args:
        step: after how many removals the scores are computed again; None: never.

    >>> order_by(lambda gone: np.array([3.0, 1.0, 2.0]), 3)
    [1, 2, 0]
    >>> order_by(lambda gone: np.array([3.0, 1.0, 2.0 if not gone else 9.0]), 3, step=1)
    [1, 0, 2]
    """
    gone: Order = []
    while len(gone) < total:
        ascending = np.argsort(scores(gone), kind="stable").tolist()
        gone += [head for head in ascending if head not in gone][: step or total]
    return gone


def random_order(total: int, seed: int) -> Order:
    """Heads in a random order."""
    order: Order = np.random.default_rng(seed).permutation(total).tolist()
    return order


@dataclass(frozen=True)
class HeadScorer:
    """Scores the heads of a model by what they do for a task.

    Attributes:
        schedule, seeds: of the gates.
    """

    model: Model
    task: Task
    max_length: int | None = None
    schedule: Schedule = field(default_factory=Schedule)
    seeds: tuple[int, ...] = (0,)

    def by(self, criterion: Criterion) -> Scores:
        """The scores of a criterion."""
        if criterion is Criterion.GATES:
            durations = self.gates()
            return lambda _: durations
        return {Criterion.IMPORTANCE: self.importance, Criterion.ABLATION: self.ablation}[criterion]

    def importance(self, gone: Sequence[int]) -> Floats:
        """Importance, each layer's divided by its norm in the intact model, as Michel et al.
        prune; in a model with one head a layer, importance itself.
        """
        values = self._importance(gone) if gone else self._intact_importance
        if self.model.heads > 1:
            norms = np.linalg.norm(self._intact_importance, axis=1, keepdims=True)
            values = values / np.maximum(norms, TINY)
        return self._of_all(values)

    @cached_property
    def _intact_importance(self) -> Floats:
        return self._importance([])

    def _importance(self, gone: Sequence[int]) -> Floats:
        """(layer, head) mean absolute derivative of the loss by a gate on each head."""
        experiment = Importance(self.model, self.task, attention=False, max_length=self.max_length)
        experiment.prepare(NoProgress())
        with disable(self.model, self.model.places_of(gone), Replacement.ZERO):
            experiment.run_cases(None)
        return np.asarray(experiment.sizes.mean(0).reshape(self.model.layers, -1))

    def ablation(self, gone: Sequence[int]) -> Floats:
        """What the metric loses without a head; among equals, how far predictions move."""
        names = [self.model.head_name(*place) for place in self.model.places]
        experiment = Ablation(
            self.model, self.task, heads=names, how=Replacement.ZERO, max_length=self.max_length
        )
        with disable(self.model, self.model.places_of(gone), Replacement.ZERO):
            experiment.prepare(NoProgress())
            predictions = run(experiment.parts, experiment.work).columns[PREDICTIONS]
        metric, gold = experiment.metric, experiment.gold
        intact = metric(predictions[:, 0], gold)
        columns = predictions[:, 1:].swapaxes(0, 1)
        lost = [(intact - metric(column, gold)) * metric.better for column in columns]
        moved: Floats = np.abs(columns - predictions[:, 0]).reshape(len(columns), -1).mean(1)
        return np.asarray(lost + 1e-6 * moved / max(float(moved.max()), TINY))

    def gates(self) -> Floats:
        """(head,) how long the gates of heads stay open."""
        cases = self.task.cases(self.model, self.task.examples, self.max_length)
        gating = Gating(self.model, self.task, cases, self.schedule)
        return self._of_all(open_durations([gating.path(seed) for seed in self.seeds]))

    def _of_all(self, values: Floats) -> Floats:
        """(head,) of all heads that there are, from (layer, head)."""
        return np.array([values[place] for place in self.model.places])
