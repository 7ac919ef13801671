"""Pruning: what a task loses as heads go, in the order that each way of choosing gives.

The order is chosen on one part of the data and the loss is stated on another. Until the heads are
really removed they give nothing, or their mean over the choosing data, which is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope._util.progress import NoProgress, Progress
from headscope.evidence import ShardResult
from headscope.experiments._shared.held_out import BUDGET, CHOICE, TEST, HeldOut
from headscope.experiments.gates.training import Schedule
from headscope.experiments.pruning import orders
from headscope.experiments.pruning.orders import Choice, Chooser, Order, Way, named, order_by
from headscope.model import Model, disable
from headscope.model.pruned.onnx import real_tokens

Floats = NDArray[np.float64]
Row = dict[str, Any]
SHARES = tuple(tenth / 10 for tenth in range(10))
"""Shares of the heads that are kept, at which the task is tried."""
DRAWS = 5
"""Random orders."""
SEEDS = 2
"""Paths of gates whose mean is taken."""


@dataclass
class Pruning:
    """One model, one task on two parts of data, some ways of choosing heads.

    Attributes:
        by: what the heads are chosen by in the end; the others stand beside.
    """

    data: HeldOut
    by: Choice = field(default_factory=lambda: Choice(Way.IMPORTANCE))
    beside: tuple[Choice, ...] = (Choice(Way.RANDOM),)
    schedule: Schedule = field(default_factory=Schedule)
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        self.ways = list(dict.fromkeys([self.by, *self.beside]))
        self.points = sorted({round(share * self.total) for share in SHARES})
        self.merged = ShardResult()

    @property
    def total(self) -> int:
        """Heads of all layers."""
        return self.data.total

    @property
    def cost(self) -> int:
        """Orders, and sets of heads that are tried."""
        return len(self.ways) + len(self.points) * sum(
            (DRAWS if one.way is Way.RANDOM else 1) + (one == self.by) for one in self.ways
        )

    def skip(self, result: ShardResult) -> None:
        """What an earlier process had done counts as done."""
        done = sum(f"order {way}" in result.columns for way in self.ways)
        tried = sum(len(one) for name, one in result.columns.items() if name.startswith("tried"))
        self.progress.advance(done + tried)

    def work(self, way: Choice) -> ShardResult:
        """The order that a choice gives, and what is predicted along it."""
        result = ShardResult()
        found = self.orders(way)
        self.progress.advance(1)
        result.columns[f"order {way}"] = np.array(found, dtype=float)
        for part in (TEST, CHOICE) if way == self.by else (TEST,):
            tried = [
                self.tried(order[: self.total - kept], part)
                for order in found
                for kept in self.points
            ]
            result.columns[f"tried {part} {way}"] = np.array(tried)
        return result

    def orders(self, choice: Choice) -> list[Order]:
        """One order; of random ones, several."""
        if choice.way is Way.RANDOM:
            return [orders.random(self.total, self.data.seed + draw) for draw in range(DRAWS)]
        data, seeds = self.data, tuple(range(self.data.seed, self.data.seed + SEEDS))
        chooser = Chooser(data.model, data.parts[CHOICE], data.max_length, self.schedule, seeds)
        return [order_by(chooser.worth(choice.way), self.total, choice.step)]

    def tried(self, gone: Sequence[int], part: str) -> Floats:
        """(case,) what is predicted without some heads."""
        found = self.data.tried(named(gone, self.data.model.heads), part)
        self.progress.advance(1)
        return found

    def order(self, way: Choice, draw: int = 0) -> Order:
        """After all work: an order."""
        return [int(head) for head in self.merged.columns[f"order {way}"][draw]]

    def chosen(self, keep: float | None, max_drop: float | None) -> Order:
        """After all work: the heads to go.

        Args:
            keep: the share of heads to keep; or
            max_drop: what the metric may lose on the choosing data: as many heads go as that
                allows, and every smaller number of heads that was tried as well.
        """
        order = self.order(self.by)
        if keep is not None:
            return order[: self.total - round(keep * self.total)]
        tried = self.merged.columns[f"tried {CHOICE} {self.by}"]
        least = self.total
        for kept, predictions in sorted(zip(self.points, tried, strict=True), reverse=True,
                                        key=lambda one: one[0]):  # fmt: skip
            lost = -self.data.effect(predictions, CHOICE).delta * self.data.metric.better
            if lost > (max_drop or 0.0):
                break
            least = kept
        return order[: self.total - least]

    def rows(self) -> list[Row]:
        """After all work: one row per metric, way, draw, part and number of heads kept."""
        return [
            {"method": str(way), "draw": draw, "part": part, "kept": kept}
            | self.data.row(predictions, part, metric)
            for way in self.ways
            for part in (TEST, CHOICE)
            for draw, kept, predictions in self._curve(way, part)
            for metric in self.data.parts[part].metrics
        ]

    def _curve(self, way: Choice, part: str) -> list[tuple[int, int, Floats]]:
        tried = self.merged.columns.get(f"tried {part} {way}")
        if tried is None:
            return []
        places = [(draw, kept) for draw in range(len(tried) // len(self.points))
                  for kept in self.points]  # fmt: skip
        return [(*place, one) for place, one in zip(places, tried, strict=True)]

    def removals(self) -> list[Row]:
        """After all work: in which order heads go."""
        return [
            {"method": str(way), "draw": draw, "place": place,
             "layer": head // self.data.model.heads, "head": head % self.data.model.heads}
            for way in self.ways
            for draw in range(len(self.merged.columns[f"order {way}"]))
            for place, head in enumerate(self.order(way, draw))
        ]  # fmt: skip

    @torch.inference_mode()
    def difference(self, pruned: Model, gone: Sequence[int]) -> float:
        """How far the last layer's outputs of a pruned model are from those of the intact one whose
        heads are off, relative to the largest, or to 1 where that is more.
        """
        data, model = self.data, self.data.model
        largest, size, off = 0.0, 1.0, named(gone, model.heads)
        for batch in data.parts[TEST].batches(model, data.cases[TEST], BUDGET):
            inputs = batch.inputs(model)
            found = real_tokens(pruned.network(**inputs)[0], batch.batch.real)
            with disable(model, off, data.how, data.means):
                expected = real_tokens(model.network(**inputs)[0], batch.batch.real)
            largest = max(largest, float((found - expected).abs().max()))
            size = max(size, float(expected.abs().max()))
        return largest / size
