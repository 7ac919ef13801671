"""How much faster one model is than another, measured side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from headscope.experiments._shared.held_out import BUDGET
from headscope.model import Model
from headscope.tasks import Case, Task

ROUNDS = 11
CASES = 64


@dataclass(frozen=True)
class Speed:
    """How many times faster, with the bounds of a 95% interval over rounds."""

    times: float
    low: float
    high: float


def compared(before: Callable[[], object], after: Callable[[], object]) -> Speed:
    """How many times faster the second is: the median over rounds that take both in turn.

    The interval is of the median, by resampling rounds.
    """
    before(), after()
    ratios = []
    for turn in range(ROUNDS):
        both = [(0, before), (1, after)]
        spent = [0.0, 0.0]
        for place, work in both if turn % 2 else reversed(both):
            start = time.perf_counter()
            work()
            spent[place] = time.perf_counter() - start
        ratios.append(spent[0] / spent[1])
    drawn = np.random.default_rng(0).choice(ratios, (1000, len(ratios)))
    low, high = np.quantile(np.median(drawn, 1), [0.025, 0.975])
    return Speed(float(np.median(ratios)), float(low), float(high))


def speed_of(intact: Model, pruned: Model, task: Task, cases: list[Case]) -> Speed:
    """How many times faster a pruned model is on the first cases of a task."""
    batches = task.batches(intact, cases[:CASES], BUDGET)

    def work(model: Model) -> Callable[[], None]:
        def once() -> None:
            with torch.inference_mode():
                for batch in batches:
                    model.network(**batch.inputs(model))
            if model.network.device.type != "cpu":
                torch.accelerator.synchronize()  # else only the asking would be timed

        return once

    return compared(work(intact), work(pruned))
