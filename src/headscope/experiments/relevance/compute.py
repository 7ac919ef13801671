"""Relevance of each head to the prediction, by layer-wise relevance propagation (Voita et al. 2019,
section 4).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.confidence import Confidence
from headscope.corpus import Conventions, Survey
from headscope.errors import ModelError
from headscope.evidence import ShardResult, Statistic, Tally, Unit
from headscope.experiments._shared.cases import CaseExperiment
from headscope.experiments._shared.loss_gradients import BATCH, gradients_of_loss
from headscope.experiments.importance.compute import GATES, Importance, statistic
from headscope.experiments.relevance.tables import RelevanceSummary, ScoreParts
from headscope.model import EPSILON, Model, propagate_relevance
from headscope.runs import ResultBuilder, RunFolder
from headscope.tasks import Case, CaseBatch, Task

Floats = NDArray[np.float64]
RELEVANCE, PARTS = "relevance", "counted"
"""Columns of the result: relevance by case and head; by shard and layer, where the score went."""
MAX_LOST = 1e-3
"""Share of the score that may be lost on the way before the run is refused."""


class Relevance(CaseExperiment):
    """Relevance of each head to the score of the prediction, by layer-wise relevance propagation:
    the score is handed down from layer to layer, and nothing is lost.

    The relevance of a head may be negative: it spoke against the prediction. The share of a head
    is the absolute value of its relevance as a part of that of all heads; the baseline is the
    share of each head if all were equal.

    Attributes:
        epsilon: stabiliser of the propagation rule for linear maps.
    """

    name: ClassVar[str] = "relevance"
    column: ClassVar[str] = RELEVANCE

    def __init__(
        self,
        model: Model,
        task: Task,
        *,
        epsilon: float = EPSILON,
        max_length: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, task, max_length=max_length, seed=seed)
        self.epsilon = epsilon

    def options(self) -> dict[str, Any]:
        """What of the study's options is its own."""
        return {"epsilon": self.epsilon}

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Propagate the scores and fill the tables."""
        self.run_cases(folder)
        builder = self.results(
            (self.name, Relevance, self.statistics()),
            (Importance.name, Importance, self.importance()),
            (Confidence.name, Confidence, self.confidence()),
        )
        builder.summarise(RelevanceSummary(self.score_parts()))
        return builder

    def work(self, cases: list[Case]) -> ShardResult:
        """Relevance of some cases, and the gradients of their loss."""
        total = self.model.layers * self.model.heads
        relevance, gates = np.empty((len(cases), total)), np.empty((len(cases), total))
        parts = np.zeros((1, self.model.layers, 6))
        for batch in self.task.batches(self.model, cases, BATCH):
            rows = list(batch.places)
            relevance[rows] = self.propagate(batch, parts[0])
            gradients = gradients_of_loss(self.model, self.task, batch, attention=False)
            gates[rows] = gradients.gates.flatten(1).double().cpu().numpy()
            self.progress.advance(len(rows))
        result = ShardResult()
        result.columns = {RELEVANCE: relevance, GATES: gates, PARTS: parts}
        return result

    def propagate(self, batch: CaseBatch, parts: Floats) -> Floats:
        """(case, head) relevance.

        Args:
            parts: (layer, 6); to it is added where the score went: the score itself, then heads,
                residual path, biases, epsilon, and what does not come by the layer.
        """
        with propagate_relevance(self.model, self.epsilon) as trace:
            score = self.task.explained(self.model, batch, batch.inputs(self.model)).sum()
            layers = trace.relevance(score)
            total = score.detach().item()
        by_case = np.zeros((len(batch.cases), self.model.layers, self.model.heads))
        for each in layers:
            layer, of_heads = each.layer, each.heads.double()
            went = [float(of_heads.sum()), each.past, each.biases, each.epsilons, each.elsewhere]
            self._check_lost(layer, total, went)
            parts[layer] += [total, *went]
            texts = of_heads.view(len(batch.cases), -1, of_heads.shape[1]).sum(1)
            by_case[:, layer, : texts.shape[1]] = texts.cpu().numpy()
        return by_case.reshape(len(by_case), -1)

    def _check_lost(self, layer: int, score: float, parts: list[float]) -> None:
        """Refuse a model in which the parts of the score do not sum to the score."""
        lost = abs(score - sum(parts)) / max(1.0, sum(abs(part) for part in parts))
        if not lost <= MAX_LOST:
            raise ModelError(
                f"{self.model.name}: {lost:.1%} of the relevance is lost on the way to layer "
                f"{layer}; the family has an operation that no rule is known for"
            )

    def score_parts(self) -> list[ScoreParts]:
        """After all shards: layer by layer, where the score went."""
        layers = []
        for number, parts in enumerate(self.merged.columns[PARTS].sum(0)):
            if not parts.any():  # it does not attend
                continue
            lost = float(abs(parts[0] - parts[1:].sum()) / np.abs(parts).max())
            heads, residual, biases, epsilon, elsewhere = (parts[1:] / parts[0]).tolist()
            attention, layer = self.model.named(number)
            went = (heads, residual, biases, epsilon, lost, elsewhere)
            layers.append(ScoreParts(layer, *went, attention=attention))
        return layers

    def statistics(self) -> list[Statistic]:
        """Relevance, and its share of that of all heads."""
        relevance = self.merged.columns[RELEVANCE]
        sizes, total = np.abs(relevance), relevance.shape[1]
        ones = np.ones((len(relevance), 1))
        everything = sizes.sum(1, keepdims=True)
        return [
            Statistic(
                "share",
                self._tally(sizes, everything),
                self._tally(np.repeat(everything / total, total, 1), everything),
                Unit.SHARE,
                "the size of a head's relevance, as a part of that of all heads",
                headlines={"": "relevance"},
            ),
            Statistic(
                "relevance",
                self._tally(relevance, ones),
                None,
                Unit.GRADIENT,
                "mean relevance for the predicted score, in its units; below 0: against it",
            ),
        ]

    def importance(self) -> list[Statistic]:
        """The importance of the heads on the same cases."""
        sizes = np.abs(self.merged.columns[GATES])
        return [statistic(sizes, self.buckets, self.layout)]

    def confidence(self) -> list[Statistic]:
        """The confidence of the heads on the texts of the cases."""
        confidence = Confidence(self.layout, Survey(Conventions()))
        for batch in self.task.batches(self.model, self.cases, BATCH):
            with self.model.watch(confidence) as tap:
                tap.forward(batch.batch)
        return list(confidence.statistics())

    def _tally(self, values: Floats, weights: Floats) -> Tally:
        return Tally.of_cases(values, weights, self.buckets, self.layout)
