"""Relevance of heads for a task, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope._util.progress import Progress
from headscope.analyses.confidence import Confidence
from headscope.corpus import BUCKETS, Rules, Survey
from headscope.evidence import Layout
from headscope.experiments._shared.case_tables import tables_of, work_off
from headscope.experiments._shared.loss_gradients import BATCH
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.importance.compute import Importance
from headscope.experiments.relevance.compute import Relevance
from headscope.model import EPSILON, Model, load
from headscope.runs import Results, RunFolder
from headscope.runs.found import Found
from headscope.tasks import Task
from headscope.tasks import task as task_named


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
) -> Found:
    """How much of what a model says comes through each head, by layer-wise relevance propagation;
    beside it, on the same texts, importance and confidence.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        epsilon: the stabiliser of the rule for linear maps.

    >>> from headscope._util.progress import NoProgress
    >>> found = relevance("minilm", task_named("tour", limit=24), progress=NoProgress())
    >>> max(one["lost"] for one in found.record["counted"]) < 1e-4
    True
    """
    task = task if isinstance(task, Task) else task_named(task)
    model = model if isinstance(model, Model) else load(model, top=task.top)
    model.check_length(max_length)
    study = {
        "experiment": "relevance",
        "model": model.describe(),
        "task": task.describe(),
        "options": {"epsilon": epsilon, "max_length": max_length, "seed": seed},
        "versions": versions(),
    }

    def prepare(shown: Progress) -> Work:
        work = Relevance(
            model=model, task=task, epsilon=epsilon, max_length=max_length, seed=seed,
            progress=shown,
        )  # fmt: skip
        return lambda folder: _work(work, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _work(work: Relevance, folder: RunFolder | None) -> Results:
    """Follow the scores and turn what reaches the heads into tables."""
    work_off(work, folder)
    results = tables_of(work, [
        (Relevance.name, Relevance, work.statistics()),
        (Importance.name, Importance, work.importance()),
        (Confidence.name, Confidence, list(_confidence(work).statistics())),
    ])  # fmt: skip
    results.record["counted"] = work.counted()
    return results


def _confidence(work: Relevance) -> Confidence:
    """How confident the heads are on the texts of the cases."""
    model = work.model
    found = Confidence(Layout(BUCKETS, model.layers, model.heads), Survey(Rules()))
    for batch in work.task.batches(model, work.cases, BATCH):
        with model.watch(found) as tap:
            tap.forward(batch.batch)
    return found
