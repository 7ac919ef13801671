"""Importance of heads for a task, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headscope.analyses import described
from headscope.evidence import Statistic, best_rows, rows
from headscope.experiments.importance import Importance
from headscope.experiments.sensitivity import Gradients
from headscope.found import Found
from headscope.gather import sizes_of
from headscope.model import Model, load
from headscope.progress import Silent
from headscope.recorded import Work, recorded, versions
from headscope.runs import Results, RunFolder, run, table_of
from headscope.runs.results import IMPORTANCE
from headscope.tasks import Task
from headscope.tasks import task as task_named

Part = tuple[type[Importance | Gradients], list[Statistic]]


def importance(
    model: Model | str | Path,
    task: Task | str,
    *,
    out: str | Path | None = None,
    normalise: bool = False,
    gradients: bool = True,
    max_length: int | None = None,
    seed: int = 0,
    progress: Silent | None = None,
    command: Sequence[str] = (),
) -> Found:
    """How much a task's loss feels each head, and attention to tokens of each role: all heads in
    one backward pass a batch.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        normalise: rank heads after each layer's were divided by their length.
        gradients: follow the loss to the weights of attention too.

    >>> found = importance("minilm", task_named("tour", limit=24), progress=Silent())
    >>> found.importance.num_rows
    72
    """
    task = task if isinstance(task, Task) else task_named(task)
    model = model if isinstance(model, Model) else load(model, head=task.head)
    model.check_length(max_length)
    study = {
        "experiment": "importance",
        "model": model.describe(),
        "task": task.describe(),
        "options": {"normalise": normalise, "gradients": gradients, "max_length": max_length,
                    "seed": seed},
        "versions": versions(),
    }  # fmt: skip

    def prepare(shown: Silent) -> Work:
        work = Importance(
            model=model, task=task, normalise=normalise, attention=gradients,
            max_length=max_length, seed=seed, progress=shown,
        )  # fmt: skip
        return lambda folder: _work(work, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _work(work: Importance, folder: RunFolder | None) -> Results:
    """Follow the losses and turn what they feel into tables."""
    shown = work.progress
    shown.begin(f"{work.model.name} on {work.task.name}", len(work.cases))
    work.harvest = run(work.parts, work.work, folder, 0, work)
    shown.end()
    parts: list[Part] = [(Importance, work.statistics())]
    if work.attention:
        parts.append((Gradients, work.gradients().statistics()))
    place = (work.task.name, work.model.weights)
    made, best = [], []
    for kind, found in parts:
        made.append(rows(found, kind.name, *place))
        best.append(best_rows(found, kind.name, *place))
    texts = [text for case in work.cases for text in case.texts]
    record: dict[str, Any] = {
        "tables": ["heads", "chosen", "importance"],
        "analyses": [described(kind.name, kind, found) for kind, found in parts],
        "corpora": [
            {"corpus": place[0], "weights": place[1]} | sizes_of(texts, len(work.cases))
        ],
        "left_out": {},
        "stability": work.stability(),
    }  # fmt: skip
    table = pa.Table.from_pylist(work.rows(), schema=IMPORTANCE)
    return Results(record, table_of(made), table_of(best), importance=table)
