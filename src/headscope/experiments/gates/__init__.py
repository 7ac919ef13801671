"""Gates: train a gate on every head that learns to close (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.experiments.gates.schedule import Schedule
    from headscope.model import Model
    from headscope.runs import RunResults
    from headscope.tasks import Task


def gates(
    model: Model | str | Path,
    task: Task | str,
    *,
    choose: Task | None = None,
    schedule: Schedule | None = None,
    seeds: int = 3,
    attention: str | None = None,
    out: str | Path | None = None,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Train gates on all heads under a growing penalty: which heads stay open?

    Args:
        task: what the metric is evaluated on; a model given by name is loaded with what the task
            needs on top.
        choose: what the gates are trained on; None: see `tasks.two_parts`.
        schedule: penalties, steps, learning rates; by default the encoder is frozen.
        seeds: how many times the gates are trained, each time with another seed.
        attention: `encoder`, `decoder` or `cross`: only these heads have gates; None: all have.
        out: a run folder, which makes it resumable; None keeps the results in memory.

    >>> from headscope._util.progress import NoProgress
    >>> from headscope.experiments.gates.schedule import Schedule
    >>> short = Schedule(penalties=(0.1, 1.0), steps=2)
    >>> results = gates("minilm", "tour", schedule=short, seeds=1, progress=NoProgress())
    >>> results.table("gates").num_rows
    144
    """
    from headscope.experiments._shared.held_out import choice_and_test
    from headscope.experiments._shared.loading import load_for
    from headscope.experiments.base import run_study
    from headscope.experiments.gates.compute import GatePaths
    from headscope.experiments.gates.schedule import Schedule

    choice, test = choice_and_test(task, choose)
    loaded, test = load_for(model, test)
    experiment = GatePaths(
        loaded,
        choice,
        test,
        schedule=schedule or Schedule(),
        seeds=seeds,
        attention=attention,
        max_length=max_length,
        seed=seed,
    )
    return run_study(experiment, out=out, progress=progress, command=command)
