"""Paths of gates over growing penalties, with what the task keeps by the heads that stay open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headscope._util.progress import NoProgress, Progress
from headscope.evidence import ShardResult
from headscope.experiments._shared.held_out import CHOICE, TEST, HeldOut
from headscope.experiments.gates.training import Gating, Schedule
from headscope.experiments.pruning.orders import named

Row = dict[str, Any]
CHANCE, OPEN, TRIED = "chance", "open", "tried"


@dataclass
class GatePaths:
    """One path a seed; gates are trained on one part of the data, the task is tried on another."""

    data: HeldOut
    schedule: Schedule = field(default_factory=Schedule)
    seeds: tuple[int, ...] = (0, 1, 2)
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        data = self.data
        self.gating = Gating(
            data.model, data.parts[CHOICE], data.cases[CHOICE], self.schedule, self.progress
        )
        self.merged = ShardResult()

    @property
    def cost(self) -> int:
        """Batches that gates learn from, over all paths."""
        return self.gating.cost * len(self.seeds)

    def skip(self, result: ShardResult) -> None:
        """What an earlier process had done counts as done."""
        done = len(result.columns[OPEN]) // len(self.schedule.penalties)
        self.progress.advance(done * self.gating.cost)

    def work(self, seed: int) -> ShardResult:
        """A path, and what is predicted by the heads that are open at each of its steps."""
        result, steps = ShardResult(), self.gating.path(seed)
        heads = self.data.model.heads
        result.columns[CHANCE] = np.array([step.chance.ravel() for step in steps])
        result.columns[OPEN] = np.array([step.open.ravel() for step in steps], dtype=float)
        result.columns[TRIED] = np.array(
            [
                self.data.tried(named(np.flatnonzero(~step.open).tolist(), heads), TEST, step.model)
                for step in steps
            ]
        )
        return result

    def _steps(self) -> list[tuple[int, float]]:
        return [(seed, penalty) for seed in self.seeds for penalty in self.schedule.penalties]

    def rows(self) -> list[Row]:
        """After all paths: one row per seed, penalty and head."""
        heads, columns = self.data.model.heads, self.merged.columns
        return [
            {"task": self.data.parts[TEST].name, "seed": seed, "penalty": penalty,
             "layer": place // heads, "head": place % heads, "chance": float(chance[place]),
             "open": bool(opened[place])}
            for (seed, penalty), chance, opened in zip(
                self._steps(), columns[CHANCE], columns[OPEN], strict=True
            )
            for place in range(self.data.total)
        ]  # fmt: skip

    def curve(self) -> list[Row]:
        """After all paths: the metrics with the heads that are open (see `PRUNING`); what is
        drawn is the seed.
        """
        columns = self.merged.columns
        return [
            {"method": "gates", "draw": seed, "part": TEST, "kept": int(opened.sum())}
            | self.data.row(predictions, TEST, metric)
            for (seed, _), opened, predictions in zip(
                self._steps(), columns[OPEN], columns[TRIED], strict=True
            )
            for metric in self.data.parts[TEST].metrics
        ]
