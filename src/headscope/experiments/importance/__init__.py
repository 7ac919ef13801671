"""Importance: the sensitivity of a task's loss to each head (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.model import Model
    from headscope.runs import RunResults
    from headscope.tasks import Task


def importance(
    model: Model | str | Path,
    task: Task | str,
    *,
    out: str | Path | None = None,
    normalise: bool = False,
    gradients: bool = True,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Measure the sensitivity of a task's loss to each head, and to attention to tokens of each
    role: all heads in one backward pass a batch.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        normalise: rank heads after each layer's were divided by their norm.
        gradients: also follow the loss to the attention weights.

    >>> from headscope import task
    >>> results = importance("minilm", task("tour", limit=24))
    >>> results.table("importance").num_rows
    72
    """
    from headscope.experiments._shared.loading import load_for
    from headscope.experiments.base import run_study
    from headscope.experiments.importance.compute import Importance

    experiment = Importance(
        *load_for(model, task),
        normalise=normalise,
        attention=gradients,
        max_length=max_length,
        seed=seed,
    )
    return run_study(experiment, out=out, progress=progress, command=command)
