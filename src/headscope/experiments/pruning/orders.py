"""In which order heads go: by importance, by ablation, by gates, or by chance.

Importance and ablation say what each head is worth now; after some heads have gone the others may
be worth more or less, so the worth can be estimated again after every few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from headscope.evidence import ShardResult
from headscope.experiments.ablation.compute import PREDICTIONS, Ablation, every_head
from headscope.experiments.gates.training import Gating, Schedule, closing_order
from headscope.experiments.importance.compute import GATES, Importance
from headscope.model import Model, Replacement, disable
from headscope.tasks import Case, Task

Floats = NDArray[np.float64]
Order = list[int]
"""All heads, numbered through the layers, the first to go first."""
TINY = 1e-12
Worth = Callable[[Sequence[int]], Floats]
"""From the heads that are gone to what each head is worth."""


class Way(StrEnum):
    """How heads are chosen."""

    IMPORTANCE = "importance"  # what the loss feels of them (Michel et al. 2019)
    ABLATION = "ablation"  # what the metric loses without them
    GATES = "gates"  # how long their gates stay open (Voita et al. 2019)
    RANDOM = "random"


@dataclass(frozen=True)
class Choice:
    """A way of choosing heads, with their worth estimated once, or again after every few.

    >>> str(Choice(Way.IMPORTANCE)), str(Choice(Way.IMPORTANCE, 7))
    ('importance', 'importance, again after 7')
    """

    way: Way
    step: int | None = None

    def __str__(self) -> str:
        return str(self.way) if self.step is None else f"{self.way}, again after {self.step}"


def order_by(worth: Worth, total: int, step: int | None = None) -> Order:
    """Heads by their worth, the least worth first.

    Args:
        step: after how many heads the worth of the others is estimated again; None: never.

    >>> order_by(lambda gone: np.array([3.0, 1.0, 2.0]), 3)
    [1, 2, 0]
    >>> order_by(lambda gone: np.array([3.0, 1.0, 2.0 if not gone else 9.0]), 3, step=1)
    [1, 0, 2]
    """
    gone: Order = []
    while len(gone) < total:
        found = worth(gone)
        rest = [head for head in np.argsort(found, kind="stable").tolist() if head not in gone]
        gone += rest[: step or total]
    return gone


@dataclass(frozen=True)
class Chooser:
    """Says what heads are worth for a task.

    Attributes:
        schedule, seeds: of gates.
        lengths: of the layers' importances before any head went.
    """

    model: Model
    task: Task
    max_length: int | None = None
    schedule: Schedule = field(default_factory=Schedule)
    seeds: tuple[int, ...] = (0,)
    lengths: list[float] = field(default_factory=list, repr=False)

    def worth(self, way: Way) -> Worth:
        """What says what heads are worth."""
        if way is Way.GATES:
            stay = self.gates()
            return lambda _: stay
        return {Way.IMPORTANCE: self.importance, Way.ABLATION: self.ablation}[way]

    def importance(self, gone: Sequence[int]) -> Floats:
        """Importance, each layer's divided by its length in the intact model, as Michel et al.
        prune; the heads of a model with one a layer as they are.
        """
        work = Importance(
            model=self.model, task=self.task, attention=False, max_length=self.max_length
        )
        with disable(self.model, named(gone, self.model.heads), Replacement.ZERO):
            found = _all(work.parts, work.work)
        sizes: Floats = np.abs(found.columns[GATES]).mean(0)
        if self.model.heads == 1:
            return sizes
        by_layer = sizes.reshape(self.model.layers, -1)
        if not gone:
            self.lengths[:] = np.linalg.norm(by_layer, axis=1).tolist()
        lengths = np.maximum(np.array(self.lengths)[:, None], TINY)
        return np.asarray((by_layer / lengths).ravel())

    def ablation(self, gone: Sequence[int]) -> Floats:
        """What the metric loses without a head; among equals, how far predictions move."""
        with disable(self.model, named(gone, self.model.heads), Replacement.ZERO):
            variants = every_head(self.model)
            work = Ablation(self.model, self.task, variants, Replacement.ZERO, self.max_length)
            predictions = _all(work.parts, work.work).columns[PREDICTIONS]
        metric, gold = work.metric, work.gold
        intact = metric(predictions[:, 0], gold)
        lost = [(intact - metric(one, gold)) * metric.better for one in predictions[:, 1:].T]
        moved: Floats = np.abs(predictions[:, 1:] - predictions[:, :1]).mean(0)
        return np.asarray(lost + 1e-6 * moved / max(float(moved.max()), 1e-12))

    def gates(self) -> Floats:
        """(head,) how long the gates of heads stay open."""
        cases = self.task.cases(self.model, self.task.examples, self.max_length)
        work = Gating(self.model, self.task, cases, self.schedule)
        return closing_order([work.path(seed) for seed in self.seeds]).ravel()


def random(total: int, seed: int) -> Order:
    """Heads in any order."""
    order: Order = np.random.default_rng(seed).permutation(total).tolist()
    return order


def named(heads: Sequence[int], width: int) -> list[tuple[int, int]]:
    """(layer, head) of heads that are numbered through the layers.

    >>> named([0, 13], 12)
    [(0, 0), (1, 1)]
    """
    return [divmod(head, width) for head in heads]


def _all(parts: Sequence[list[Case]], work: Callable[[list[Case]], ShardResult]) -> ShardResult:
    """Everything that some parts bring in."""
    total = ShardResult()
    for part in parts:
        total.merge(work(part))
    return total
