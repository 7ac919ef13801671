"""Relevance of each head to the prediction (LRP; Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.model.defaults import EPSILON

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.model import Model
    from headscope.runs import RunResults
    from headscope.tasks import Task


def relevance(
    model: Model | str | Path,
    task: Task | str,
    *,
    out: str | Path | None = None,
    epsilon: float = EPSILON,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Measure the relevance of each head to the prediction, by layer-wise relevance propagation
    (LRP); and, on the same texts, the importance and the confidence of the heads.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        epsilon: stabiliser of the propagation rule for linear maps.

    >>> from headscope import task
    >>> results = relevance("minilm", task("tour", limit=24))
    >>> results.table("best").num_rows
    4
    """
    from headscope.experiments._shared.loading import load_for
    from headscope.experiments.base import run_study
    from headscope.experiments.relevance.compute import Relevance

    experiment = Relevance(
        *load_for(model, task), epsilon=epsilon, max_length=max_length, seed=seed
    )
    return run_study(experiment, out=out, progress=progress, command=command)
