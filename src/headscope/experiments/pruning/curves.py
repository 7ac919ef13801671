"""What a task loses as heads go, in the order that each selection gives.

The order is chosen on one part of the data and the loss is stated on another; where it is promised
not to exceed a limit, the number of heads is certified on a third. Until the heads are really
removed they are switched off, which gives the same outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope._util.progress import NoProgress, Progress
from headscope.evidence import ShardResult
from headscope.experiments._shared.head_curves import CERTIFY, CHOICE, TEST, PruningRow
from headscope.experiments._shared.held_out import HeldOut
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.pruning.certification import (
    Limit,
    Step,
    certified,
    certify,
    removal_counts,
)
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
    """One model, one task on parts of data, several selections of heads.

    Attributes:
        selections: heads are removed by the first; the others are for comparison.
        limit: what may be lost on new data; needs data to certify by.
        points: numbers of heads kept, at which the task is evaluated.
        counts: numbers of heads removed, which are tested in turn where there is a limit.
        merged: after all work, orders and predictions.
    """

    data: HeldOut
    selections: list[Selection]
    limit: Limit | None = None
    schedule: Schedule = field(default_factory=Schedule)
    progress: Progress = field(default_factory=NoProgress)
    merged: ShardResult = field(default_factory=ShardResult)

    def __post_init__(self) -> None:
        self.points = sorted({round(share * self.data.total) for share in SHARES})
        self.counts = removal_counts(self.data.total) if self.limit else []

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
        return len(self.selections) + len(self.points) * sum(evaluated) + len(self.counts)

    def _parts(self, selection: Selection) -> tuple[str, ...]:
        """The parts of the data that a selection is evaluated on."""
        return (TEST, CHOICE) if selection == self.by else (TEST,)

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process had done as done."""
        for selection in self.selections:
            names = [_order(selection), *(_predictions(selection, part) for part in (TEST, CHOICE))]
            orders, *evaluated = (result.columns.get(name, ()) for name in names)
            self.progress.advance(bool(len(orders)) + sum(len(each) for each in evaluated))
            if selection == self.by and len(orders):
                self.progress.advance(len(self.counts))

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
        if self.limit and selection == self.by:
            result.columns[_predictions(selection, CERTIFY)] = self._certify(orders[0])
        return result

    def _certify(self, order: Order) -> Floats:
        """(tested, case, ...) predictions without the first heads of an order, for each number of
        heads that is tested.
        """
        predictions: list[Floats] = []

        def predict(removed: int) -> Floats:
            predictions.append(self._predict_without(order[:removed], CERTIFY))
            return predictions[-1]

        tested = len(list(self._tests(predict)))
        self.progress.advance(len(self.counts) - tested)
        return np.array(predictions)

    def _tests(self, predict: Callable[[int], Floats]) -> Iterator[Step]:
        assert self.limit is not None
        return certify(self.counts, predict, self.data.loss_test(CERTIFY), self.limit)

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

    def steps(self) -> list[Step]:
        """After all work: the tests of how many heads may go; none without a limit."""
        if self.limit is None:
            return []
        stored = self.merged.columns[_predictions(self.by, CERTIFY)]
        return list(self._tests(dict(zip(self.counts, stored, strict=False)).__getitem__))

    def removable(self, keep: float | None) -> Order:
        """After all work: the heads to remove.

        Args:
            keep: the share of heads to keep; None: as many go as the limit allows.
        """
        (order,), total = self.orders(self.by), self.data.total
        return order[: certified(self.steps()) if keep is None else total - round(keep * total)]

    def random_removals(self, removed: int) -> list[float]:
        """After all work: the metric on held-out data without as many heads of each random order;
        empty without random orders.
        """
        values = []
        for selection in self.selections if removed else []:
            if selection.criterion is Criterion.RANDOM:
                for order in self.orders(selection):
                    pairs = self.data.model.places_of(order[:removed])
                    predictions = self.data.predict_without(pairs, TEST)
                    values.append(self.data.effect(predictions, TEST).value)
        return values

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
