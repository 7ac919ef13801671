"""Importance of heads for a task, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from headscope._util.progress import Progress
from headscope.experiments._shared.case_tables import Part, tables_of, work_off
from headscope.experiments._shared.loss_gradients import Gradients
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.importance.compute import Importance
from headscope.model import Model, load
from headscope.runs import Results, RunFolder
from headscope.runs.found import Found
from headscope.runs.results import IMPORTANCE
from headscope.tasks import Task
from headscope.tasks import task as task_named


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
) -> Found:
    """How much a task's loss feels each head, and attention to tokens of each role: all heads in
    one backward pass a batch.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        normalise: rank heads after each layer's were divided by their length.
        gradients: follow the loss to the weights of attention too.

    >>> from headscope._util.progress import NoProgress
    >>> found = importance("minilm", task_named("tour", limit=24), progress=NoProgress())
    >>> found.importance.num_rows
    72
    """
    task = task if isinstance(task, Task) else task_named(task)
    model = model if isinstance(model, Model) else load(model, top=task.top)
    model.check_length(max_length)
    study = {
        "experiment": "importance",
        "model": model.describe(),
        "task": task.describe(),
        "options": {"normalise": normalise, "gradients": gradients, "max_length": max_length,
                    "seed": seed},
        "versions": versions(),
    }  # fmt: skip

    def prepare(shown: Progress) -> Work:
        work = Importance(
            model=model, task=task, normalise=normalise, attention=gradients,
            max_length=max_length, seed=seed, progress=shown,
        )  # fmt: skip
        return lambda folder: _work(work, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _work(work: Importance, folder: RunFolder | None) -> Results:
    """Follow the losses and turn what they feel into tables."""
    work_off(work, folder)
    parts: list[Part] = [(Importance.name, Importance, work.statistics())]
    if work.attention:
        parts.append((Gradients.name, Gradients, work.gradients().statistics()))
    results = tables_of(work, parts)
    results.record["tables"].append("importance")
    results.record["stability"] = work.stability()
    results.importance = pa.Table.from_pylist(work.rows(), schema=IMPORTANCE)
    return results
