"""Gates over growing penalties, and what the task keeps by the heads that stay open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from headscope._util.progress import Progress
from headscope.errors import HeadscopeError
from headscope.evidence import ShardResult
from headscope.experiments._shared.head_curves import CHOICE, PRUNING, TEST, PruningRow
from headscope.experiments._shared.held_out import HeldOut
from headscope.experiments._shared.identity import task_study
from headscope.experiments.base import Experiment
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.gates.tables import GATES, GateRow, GatesSummary
from headscope.experiments.gates.training import Gating
from headscope.model import Model
from headscope.runs import ResultBuilder, RunFolder, Study, run
from headscope.tasks import Task

CHANCE, OPEN, PREDICTIONS = "chance", "open", "predictions"
"""Columns of the result, a row for each seed and penalty."""


class GatePaths(Experiment):
    """Gates trained on one part of the data, once for each seed; the metric on the other part.

    Attributes:
        seeds: of the paths.
        seed: of the first path, and of the bootstrap.
    """

    name = "gates"

    def __init__(
        self,
        model: Model,
        choice: Task,
        test: Task,
        *,
        schedule: Schedule,
        seeds: int = 3,
        attention: str | None = None,
        max_length: int | None = None,
        seed: int = 0,
    ) -> None:
        if seeds < 1:
            raise HeadscopeError(f"gates are trained with at least 1 seed, not {seeds}")
        model.check_length(max_length)
        self.model, self.parts, self.schedule = model, {TEST: test, CHOICE: choice}, schedule
        self.seeds, self.attention = range(seed, seed + seeds), attention
        self.max_length, self.seed = max_length, seed

    def study(self) -> Study:
        """What identifies the run."""
        options = {
            "schedule": asdict(self.schedule),
            "seeds": len(self.seeds),
            **({"attention": self.attention} if self.attention else {}),
            "max_length": self.max_length,
            "seed": self.seed,
        }
        return task_study(self.name, self.model, self.parts[TEST], options, self.parts[CHOICE])

    def prepare(self, progress: Progress) -> None:
        """Encode both parts of the data."""
        self.progress = progress
        self.data = HeldOut(self.model, self.parts, max_length=self.max_length, seed=self.seed)
        cases = self.data.cases[CHOICE]
        trained = (self.model, self.parts[CHOICE], cases, self.schedule, progress)
        self.gating = Gating(*trained, self.attention)

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Train the gates and turn their states into tables."""
        title = f"{self.model.name} on {self.parts[TEST].name}: gates"
        self.progress.begin(title, self.gating.cost * len(self.seeds))
        result = run(self.seeds, self.work, folder, 0, self)
        self.progress.end()
        builder = ResultBuilder()
        builder.add_rows(GATES, self._gate_rows(result))
        builder.add_rows(PRUNING, self._curve(result))
        builder.summarise(GatesSummary(self.data.scores(), self.data.sizes))
        return builder

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process had done as done."""
        paths = len(result.columns[OPEN]) // len(self.schedule.penalties)
        self.progress.advance(paths * self.gating.cost)

    def work(self, seed: int) -> ShardResult:
        """One path, and the predictions by the heads that are open at each penalty."""
        result, steps = ShardResult(), self.gating.path(seed)
        places = self.model.places
        result.columns[CHANCE] = np.array([[step.chance[at] for at in places] for step in steps])
        result.columns[OPEN] = np.array(
            [[step.open[at] for at in places] for step in steps], dtype=float
        )
        closed = [[at for at in places if not step.open[at]] for step in steps]
        result.columns[PREDICTIONS] = np.array(
            [
                self.data.predict_without(heads, TEST, step.model)
                for heads, step in zip(closed, steps, strict=True)
            ]
        )
        return result

    def _seeds_and_penalties(self) -> list[tuple[int, float]]:
        return [(seed, penalty) for seed in self.seeds for penalty in self.schedule.penalties]

    def _gate_rows(self, result: ShardResult) -> Iterator[GateRow]:
        """One row per seed, penalty and head."""
        task, columns = self.parts[TEST].name, result.columns
        for (seed, penalty), chance, opened in zip(
            self._seeds_and_penalties(), columns[CHANCE], columns[OPEN], strict=True
        ):
            for place, (number, head) in enumerate(self.model.places):
                attention, layer = self.model.named(number)
                state = (float(chance[place]), bool(opened[place]))
                yield GateRow(task, seed, penalty, layer, head, *state, attention=attention)

    def _curve(self, result: ShardResult) -> Iterator[PruningRow]:
        """The metrics by the open heads, one row per seed, penalty and metric."""
        columns = result.columns
        for (seed, _), opened, predictions in zip(
            self._seeds_and_penalties(), columns[OPEN], columns[PREDICTIONS], strict=True
        ):
            for change in self.data.score_changes(predictions, TEST):
                yield PruningRow.of(change, "gates", TEST, draw=seed, kept=int(opened.sum()))
