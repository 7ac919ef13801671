"""Gates of a model on a task, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from headscope._util.progress import Progress
from headscope.errors import HeadscopeError
from headscope.experiments._shared.held_out import CHOICE, TEST, HeldOut
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.gates.compute import GatePaths
from headscope.experiments.gates.training import Schedule
from headscope.model import Model, load
from headscope.runs import Results, RunFolder, run
from headscope.runs.found import Found
from headscope.runs.results import GATES, PRUNING
from headscope.tasks import Task, two_parts


def gates(
    model: Model | str | Path,
    task: Task | str,
    *,
    choose: Task | None = None,
    schedule: Schedule | None = None,
    seeds: int = 3,
    out: str | Path | None = None,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Train gates that learn to close, over growing penalties: which heads stay open?

    Args:
        task: what the metric is stated on.
        choose: what the gates are trained on; None: see `tasks.two_parts`.
        schedule: penalties, steps, rates; by default the encoder's weights stay as they are.
        seeds: paths, each from a seed of its own.

    >>> short = Schedule(penalties=(0.1, 1.0), steps=2)
    >>> from headscope._util.progress import NoProgress
    >>> found = gates("minilm", "tour", schedule=short, seeds=1, progress=NoProgress())
    >>> found.gates.num_rows
    144
    """
    if choose is None:
        choose, task = two_parts(task) if isinstance(task, str) else task.halves()
    elif isinstance(task, str):
        raise HeadscopeError("with data to learn from, give the task itself (see headscope.task)")
    if seeds < 1:
        raise HeadscopeError(f"gates are trained with at least 1 seed, not {seeds}")
    schedule = schedule or Schedule()
    model = model if isinstance(model, Model) else load(model, top=task.top)
    model.check_length(max_length)
    parts = {TEST: task, CHOICE: choose}
    study = {
        "experiment": "gates",
        "model": model.describe(),
        "task": task.describe(),
        "choice": choose.describe(),
        "options": {"schedule": asdict(schedule), "seeds": seeds, "max_length": max_length,
                    "seed": seed},
        "versions": versions(),
    }  # fmt: skip

    def prepare(shown: Progress) -> Work:
        data = HeldOut(model, parts, max_length=max_length, seed=seed)
        work = GatePaths(data, schedule, tuple(range(seed, seed + seeds)), shown)
        return lambda folder: _work(work, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _work(work: GatePaths, folder: RunFolder | None) -> Results:
    """Train the gates and turn what they do into tables."""
    shown, data = work.progress, work.data
    shown.begin(f"{data.model.name} on {data.parts[TEST].name}: gates", work.cost)
    work.merged = run(work.seeds, work.work, folder, 0, work)
    shown.end()
    record: dict[str, Any] = {
        "tables": ["gates", "pruning"], "analyses": [], "corpora": [], "left_out": {},
        "intact": data.scores(),
        "sizes": {name: len(some) for name, some in data.cases.items()},
    }  # fmt: skip
    return Results(
        record,
        gates=pa.Table.from_pylist(work.rows(), schema=GATES),
        pruning=pa.Table.from_pylist(work.curve(), schema=PRUNING),
    )
