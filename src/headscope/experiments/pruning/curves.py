"""What a task loses as heads go, in the order that each selection gives.

The order is chosen on one part of the data and the loss is stated on the other. Until the heads
are really removed they are switched off, which gives the same outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope._util.progress import NoProgress, Progress
from headscope.evidence import ShardResult
from headscope.experiments._shared.head_curves import CHOICE, TEST, PruningRow
from headscope.experiments._shared.held_out import HeldOut
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.pruning.orders import HeadScorer, Order, order_by, random_order
from headscope.experiments.pruning.tables import RemovalRow
from headscope.experiments.pruning.target import Criterion, Selection

Floats = NDArray[np.float64]
SHARES = tuple(tenth / 10 for tenth in range(10))
"""Shares of the heads that are kept, at which the task is evaluated."""
DRAWS = 5
"""Random orders."""
SEEDS = 2
"""Paths of gates whose mean is taken."""


@dataclass
class PruningCurves:
    """One model, one task on two parts of data, several selections of heads.

    Attributes:
        selections: heads are removed by the first; the others are for comparison.
        points: numbers of heads kept, at which the task is evaluated.
        merged: after all work, orders and predictions.
    """

    data: HeldOut
    selections: list[Selection]
    schedule: Schedule = field(default_factory=Schedule)
    progress: Progress = field(default_factory=NoProgress)
    merged: ShardResult = field(default_factory=ShardResult)

    def __post_init__(self) -> None:
        self.points = sorted({round(share * self.data.total) for share in SHARES})

    @property
    def by(self) -> Selection:
        """The selection that heads are removed by."""
        return self.selections[0]

    @property
    def cost(self) -> int:
        """Orders, and evaluations of the task."""
        evaluated = (
            len(self._parts(selection)) * DRAWS
            if selection.criterion is Criterion.RANDOM
            else len(self._parts(selection))
            for selection in self.selections
        )
        return len(self.selections) + len(self.points) * sum(evaluated)

    def _parts(self, selection: Selection) -> tuple[str, ...]:
        """The parts of the data that a selection is evaluated on."""
        return (TEST, CHOICE) if selection == self.by else (TEST,)

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process had done as done."""
        for selection in self.selections:
            names = [_order(selection), *(_predictions(selection, part) for part in (TEST, CHOICE))]
            orders, *evaluated = (result.columns.get(name, ()) for name in names)
            self.progress.advance(bool(len(orders)) + sum(len(each) for each in evaluated))

    def work(self, selection: Selection) -> ShardResult:
        """The order that a selection gives, and the predictions along it."""
        result, orders = ShardResult(), self._orders(selection)
        self.progress.advance(1)
        result.columns[_order(selection)] = np.array(orders, dtype=float)
        for part in self._parts(selection):
            predictions = [
                self._predict_without(order[: self.data.total - kept], part)
                for order in orders
                for kept in self.points
            ]
            result.columns[_predictions(selection, part)] = np.array(predictions)
        return result

    def _orders(self, selection: Selection) -> list[Order]:
        """One order; of random ones, several."""
        data, total = self.data, self.data.total
        if selection.criterion is Criterion.RANDOM:
            return [random_order(total, data.seed + draw) for draw in range(DRAWS)]
        seeds = tuple(range(data.seed, data.seed + SEEDS))
        scorer = HeadScorer(data.model, data.parts[CHOICE], data.max_length, self.schedule, seeds)
        return [order_by(scorer.by(selection.criterion), total, selection.step)]

    def _predict_without(self, gone: Sequence[int], part: str) -> Floats:
        pairs = self.data.model.places_of(gone)
        predictions = self.data.predict_without(pairs, part)
        self.progress.advance(1)
        return predictions

    def orders(self, selection: Selection) -> list[Order]:
        """After all work: the orders of a selection."""
        return [[int(head) for head in order] for order in self.merged.columns[_order(selection)]]

    def losses(self) -> dict[int, float]:
        """After all work: by heads kept, what the metric loses on the choosing data, the most
        heads first.
        """
        predictions = self.merged.columns[_predictions(self.by, CHOICE)]
        return {
            kept: -self.data.effect(each, CHOICE).delta * self.data.metric.better
            for kept, each in sorted(zip(self.points, predictions, strict=True), key=_kept)[::-1]
        }

    def removable(self, keep: float | None, max_drop: float | None) -> Order:
        """After all work: the heads to remove.

        Args:
            keep: the share of heads to keep; or
            max_drop: what the metric may lose on the choosing data: as many heads go as that
                allows at this and at every smaller number of removals that was evaluated.
        """
        (order,), total = self.orders(self.by), self.data.total
        if keep is not None:
            return order[: total - round(keep * total)]
        fewest = total
        for kept, lost in self.losses().items():
            if lost > (max_drop or 0.0):
                break
            fewest = kept
        return order[: total - fewest]

    def rows(self) -> Iterator[PruningRow]:
        """After all work: one row per selection, part, draw, number of heads kept and metric."""
        for selection in self.selections:
            for part in self._parts(selection):
                stored = self.merged.columns[_predictions(selection, part)]
                for place, predictions in enumerate(stored):
                    draw, point = divmod(place, len(self.points))
                    for change in self.data.score_changes(predictions, part):
                        kept = self.points[point]
                        yield PruningRow.of(change, str(selection), part, draw, kept)

    def removals(self) -> Iterator[RemovalRow]:
        """After all work: in which order heads go."""
        for selection in self.selections:
            for draw, order in enumerate(self.orders(selection)):
                model = self.data.model
                for place, (number, head) in enumerate(model.places_of(order)):
                    attention, layer = model.named(number)
                    row = (str(selection), draw, place, layer, head)
                    yield RemovalRow(*row, attention=attention)


def _order(selection: Selection) -> str:
    """The column of the result with a selection's orders."""
    return f"order {selection}"


def _predictions(selection: Selection, part: str) -> str:
    """The column of the result with the predictions along a selection's orders."""
    return f"predictions {part} {selection}"


def _kept(entry: tuple[int, Floats]) -> int:
    return entry[0]
