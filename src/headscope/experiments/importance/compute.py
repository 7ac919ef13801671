"""Importance: the sensitivity of a task's loss to each head (Michel et al. 2019, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.evidence import Layout, ShardResult, Statistic, Tally, Unit
from headscope.evidence.paired import Resamples
from headscope.experiments._shared.cases import CaseExperiment, Measured
from headscope.experiments._shared.loss_gradients import BATCH, Gradients, gradients_of_loss
from headscope.experiments.importance.tables import IMPORTANCE, ImportanceRow, ImportanceSummary
from headscope.model import Model
from headscope.runs import ResultBuilder, RunFolder
from headscope.tasks import Case, Task

Floats = NDArray[np.float64]
GATES = "gates"
SPLITS = 200
"""Random halves that rankings are compared on."""


class Importance(CaseExperiment):
    """Sensitivity of the task loss to each head: the derivative with respect to a gate of 1 on
    its output.

    The absolute value is taken example by example, before the mean: a head that helps one and
    hurts the next is not a head that does nothing (Michel et al. 2019).

    Attributes:
        normalise: divide the heads of a layer by the root of their summed squares, so that
            layers are comparable (Michel's way for pruning).
        attention: also follow the loss to the weights of attention.
    """

    name: ClassVar[str] = "importance"
    column: ClassVar[str] = GATES

    def __init__(
        self,
        model: Model,
        task: Task,
        *,
        normalise: bool = False,
        attention: bool = True,
        max_length: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, task, max_length=max_length, seed=seed)
        self.normalise, self.attention = normalise, attention

    def options(self) -> dict[str, Any]:
        """What of the study's options is its own."""
        return {"normalise": self.normalise, "gradients": self.attention}

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Differentiate the losses and fill the tables."""
        self.run_cases(folder)
        measured: list[Measured] = [(self.name, Importance, self.statistics())]
        if self.attention:
            measured.append((Gradients.name, Gradients, self.gradients().statistics()))
        builder = self.results(*measured)
        builder.add_rows(IMPORTANCE, self.rows())
        builder.summarise(ImportanceSummary(self.stability()))
        return builder

    def work(self, cases: list[Case]) -> ShardResult:
        """Derivatives of some cases."""
        heads = self.model.layers * self.model.heads
        gates, by_role = np.empty((len(cases), heads)), Gradients(self.layout)
        for batch in self.task.batches(self.model, cases, BATCH):
            gradients = gradients_of_loss(self.model, self.task, batch, attention=self.attention)
            gates[list(batch.places)] = gradients.gates.flatten(1).double().cpu().numpy()
            by_role.add(gradients, batch)
            self.progress.advance(len(batch.cases))
        result = ShardResult()
        result.columns[GATES] = gates
        result.tallies |= by_role.tallies if self.attention else {}
        return result

    @cached_property
    def sizes(self) -> Floats:
        """After all shards: (case, head) absolute derivatives."""
        return np.abs(self.merged.columns[GATES])

    def gradients(self) -> Gradients:
        """After all shards: the magnitudes by attention."""
        found = Gradients(self.layout)
        found.magnitude, found.even = (self.merged.tallies[name] for name in ("magnitude", "even"))
        return found

    def statistics(self) -> list[Statistic]:
        """Importance as a statistic; there is no baseline, heads are compared with each other."""
        return [statistic(self.sizes, self.buckets, self.layout)]

    def rows(self) -> list[ImportanceRow]:
        """One row a head: its importance, its share of its layer, its rank and how sure that is."""
        layers, heads = self.model.layers, self.model.heads
        units = [case.example.unit for case in self.cases]
        bounds, around = resampled(self.sizes, units, self.seed, self._compared)
        value = self.sizes.mean(0)
        rank = ranked(self._compared(value[None]))[0]
        normal = normalised(value[None], layers)[0]
        named = [self.model.named(layer) for layer in range(layers)]
        return [
            ImportanceRow(
                self.task.name,
                named[place // heads][1],
                place % heads,
                float(value[place]),
                float(bounds[0, place]),
                float(bounds[1, place]),
                float(normal[place]),
                int(rank[place]),
                int(around[0, place]),
                int(around[1, place]),
                len(self.cases),
                attention=named[place // heads][0],
            )
            for place in range(layers * heads)
            if place % heads < self.model.head_counts[place // heads]
        ]

    def _compared(self, means: Floats) -> Floats:
        return normalised(means, self.model.layers) if self.normalise else means

    def stability(self) -> float:
        """Agreement of the rankings on two random halves of the documents: mean Spearman."""
        names, member = np.unique([case.example.unit for case in self.cases], return_inverse=True)
        if len(names) < 2:
            return float("nan")
        rng, correlations = np.random.default_rng(self.seed), []
        for _ in range(SPLITS):
            half = rng.permutation(len(names)) < len(names) // 2
            parts = [self.sizes[half[member] == side].mean(0)[None] for side in (True, False)]
            one, other = (self._compared(part)[0] for part in parts)
            correlations.append(stats.spearmanr(one, other).statistic)
        return float(np.mean(correlations))


def resampled(
    sizes: Floats, units: Sequence[str], seed: int, compared: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """95% of the means, and of the ranks, when documents are drawn anew: (low or high, head) each.

    Args:
        sizes: (case, head)
        units: the documents of the cases.
        compared: of (resample, head) means, the numbers by which heads are ranked.
    """
    drawn = Resamples(units, seed=seed).weights
    means = drawn @ sizes / drawn.sum(1, keepdims=True)
    ranks = ranked(compared(means))
    return np.quantile(means, [0.025, 0.975], axis=0), np.quantile(ranks, [0.025, 0.975], axis=0)


def statistic(sizes: Floats, buckets: list[int], layout: Layout) -> Statistic:
    """Importance as a statistic, from (case, head) absolute derivatives."""
    return Statistic(
        "importance",
        Tally.of_cases(sizes, np.ones((len(sizes), 1)), buckets, layout),
        None,
        Unit.GRADIENT,
        "mean over examples of the absolute derivative of the loss by a gate on the head",
        headlines={"": "importance"},
    )


def normalised(values: Floats, layers: int) -> Floats:
    """(row, head) each divided by the root of the summed squares of its layer.

    >>> normalised(np.array([[3.0, 4.0, 0.0, 0.0]]), 2).tolist()
    [[0.6, 0.8, 0.0, 0.0]]
    """
    by_layer = values.reshape(len(values), layers, -1)
    length = np.sqrt((by_layer**2).sum(-1, keepdims=True))
    whole = np.divide(by_layer, length, out=np.zeros_like(by_layer), where=length > 0)
    return np.asarray(whole.reshape(values.shape))


def ranked(values: Floats) -> NDArray[np.int64]:
    """(row, head) 1 for the largest of a row.

    >>> ranked(np.array([[0.1, 0.7, 0.2]])).tolist()
    [[3, 1, 2]]
    """
    return np.asarray(stats.rankdata(-values, method="ordinal", axis=1))
