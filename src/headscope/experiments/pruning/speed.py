"""Speed of a pruned model, measured in turn with the intact one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from headscope.experiments._shared.held_out import BUDGET
from headscope.experiments.pruning.tables import Speedup
from headscope.model import Model, evaluating
from headscope.tasks import Case, Task

ROUNDS = 11
CASES = 64


def measure_speedup(before: Callable[[], object], after: Callable[[], object]) -> Speedup:
    """How many times as fast the second is: the median over rounds that run both in turn.

    The interval is of the median, by resampling rounds.
    """
    before(), after()
    ratios = []
    for turn in range(ROUNDS):
        both = [(0, before), (1, after)]
        seconds = [0.0, 0.0]
        for place, work in both if turn % 2 else reversed(both):
            start = time.perf_counter()
            work()
            seconds[place] = time.perf_counter() - start
        ratios.append(seconds[0] / seconds[1])
    resampled = np.random.default_rng(0).choice(ratios, (1000, len(ratios)))
    low, high = np.quantile(np.median(resampled, 1), [0.025, 0.975])
    return Speedup(float(np.median(ratios)), float(low), float(high))


def model_speedup(intact: Model, pruned: Model, task: Task, cases: list[Case]) -> Speedup:
    """How many times as fast a pruned model is on the first cases of a task."""
    batches = task.batches(intact, cases[:CASES], BUDGET)

    def forward(model: Model) -> Callable[[], None]:
        def once() -> None:
            with torch.inference_mode(), evaluating(model.whole):
                for batch in batches:
                    task.run(model, batch)
            if model.network.device.type != "cpu":
                torch.accelerator.synchronize()  # otherwise only the launch would be timed

        return once

    return measure_speedup(forward(intact), forward(pruned))
