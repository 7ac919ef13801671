"""Relevance: how much of what a model says comes through each head (Voita et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.errors import ModelError
from headscope.evidence import ShardResult, Statistic, Tally, Unit
from headscope.experiments._shared.cases import CaseWork
from headscope.experiments._shared.loss_gradients import BATCH, felt
from headscope.experiments.importance.compute import GATES, statistic
from headscope.model import EPSILON, propagate_relevance
from headscope.tasks import Case, CaseBatch

Floats = NDArray[np.float64]
Row = dict[str, Any]
RELEVANCE, COUNTED = "relevance", "counted"
LOST = 1e-3
"""A share of the score that may be lost on the way before the rules are said not to hold."""


@dataclass(kw_only=True)
class Relevance(CaseWork):
    """How much of the model's score for what it predicts comes through each head, by layer-wise
    relevance propagation: the score is handed down from layer to layer, and nothing is lost.

    What reaches a head may be negative: it spoke against what was predicted. The share of a head
    is the size of its relevance, as a part of that of all heads; the baseline is one head's part
    if all had the same.

    Attributes:
        epsilon: the stabiliser of the rule for linear maps.
    """

    name: ClassVar[str] = "relevance"
    column: ClassVar[str] = RELEVANCE

    epsilon: float = EPSILON

    def work(self, cases: list[Case]) -> ShardResult:
        """Relevance of some cases, and what their loss feels of the heads."""
        total = self.model.layers * self.model.heads
        found, gates = np.empty((len(cases), total)), np.empty((len(cases), total))
        counted = np.zeros((1, self.model.layers, 5))
        for batch in self.task.batches(self.model, cases, BATCH):
            rows = list(batch.places)
            found[rows] = self.followed(batch, counted[0])
            gradient = felt(self.model, self.task, batch, attention=False).gates
            gates[rows] = gradient.flatten(1).double().cpu().numpy()
            self.progress.advance(len(rows))
        result = ShardResult()
        result.columns = {RELEVANCE: found, GATES: gates, COUNTED: counted}
        return result

    def followed(self, batch: CaseBatch, counted: Floats) -> Floats:
        """(case, head) relevance; `counted`, (layer, 5), gets what went where: the score, heads,
        residual path, biases, epsilon.
        """
        with propagate_relevance(self.model, self.epsilon) as trace:
            score = self.task.explained(self.model, batch, batch.inputs(self.model)).sum()
            heads, skipped, _ = trace.relevance(score)
            whole = score.detach().item()
        for layer in range(self.model.layers):
            absorbed = trace.ledger.absorbed_since(trace.entries[layer])
            parts = [whole, float(heads[layer].double().sum()), float(skipped[layer]), *absorbed]
            off = abs(parts[0] - sum(parts[1:])) / max(1.0, sum(abs(one) for one in parts[1:]))
            if not off <= LOST:
                raise ModelError(
                    f"{self.model.name}: {off:.1%} of the relevance is lost on the way to layer "
                    f"{layer}; the family has an operation that no rule is known for"
                )
            counted[layer] += parts
        cases = len(batch.cases)
        by_case = heads.view(self.model.layers, cases, -1, self.model.heads).sum(2)
        return np.asarray(by_case.transpose(0, 1).flatten(1).double().cpu().numpy())

    def counted(self) -> list[Row]:
        """After all shards: of each layer, what became of the score, as shares of it."""
        names = ("heads", "residual", "biases", "epsilon")
        totals = self.merged.columns[COUNTED].sum(0)
        return [
            {"layer": layer} | {name: float(part / parts[0]) for name, part in
                                zip(names, parts[1:], strict=True)}
            | {"lost": float(abs(parts[0] - parts[1:].sum()) / np.abs(parts).max())}
            for layer, parts in enumerate(totals)
        ]  # fmt: skip

    def statistics(self) -> list[Statistic]:
        """Relevance, and its share of all heads'."""
        found = self.merged.columns[RELEVANCE]
        sizes, total = np.abs(found), found.shape[1]
        ones = np.ones((len(found), 1))
        everything = sizes.sum(1, keepdims=True)
        return [
            Statistic(
                "share", self._tally(sizes, everything),
                self._tally(np.repeat(everything / total, total, 1), everything), Unit.SHARE,
                "the size of a head's relevance, as a part of that of all heads",
                headlines={"": "relevance"},
            ),
            Statistic(
                "relevance", self._tally(found, ones), None, Unit.GRADIENT,
                "mean relevance for the predicted score, in its units; below 0: against it",
            ),
        ]  # fmt: skip

    def importance(self) -> list[Statistic]:
        """What the loss feels of the heads, on the same cases."""
        sizes = np.abs(self.merged.columns[GATES])
        return [statistic(sizes, self.buckets, self.shape)]

    def _tally(self, values: Floats, weights: Floats) -> Tally:
        return Tally.of_cases(values, weights, self.buckets, self.shape)
