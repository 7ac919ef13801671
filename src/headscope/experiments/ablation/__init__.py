"""Ablation of a model on a task, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from headscope._util.progress import Progress
from headscope.evidence.sequential import Decider
from headscope.experiments.ablation.compute import Ablation, chosen_sets, every_head_and_layer
from headscope.experiments.base import Work, recorded, versions
from headscope.model import Model, load, parse_replacement
from headscope.runs import Results, RunFolder, run
from headscope.runs.found import Found
from headscope.runs.results import ABLATION
from headscope.tasks import Task
from headscope.tasks import task as task_named


def ablate(
    model: Model | str | Path,
    task: Task | str,
    *,
    out: str | Path | None = None,
    heads: Sequence[str] | None = None,
    how: str = "uniform",
    budget: Decider | None = None,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Switch off every head and every layer, one at a time, and see what the task loses or gains.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes the sweep resumable; None keeps the results in memory.
        heads: sets of heads to switch off together instead (`["L3.H4,L5"]`).
        how: what a head gives that is off: `uniform`, `zero` or `mean`.
        budget: stop evaluating a head whose verdict is decided.

    >>> found = ablate("minilm", task_named("tour", limit=24), heads=["L0.H0", "L5"])
    >>> [row["name"] for row in found.effects()]
    ['L5', 'L0.H0']
    """
    task = task if isinstance(task, Task) else task_named(task)
    model = model if isinstance(model, Model) else load(model, top=task.top)
    way = parse_replacement(how)
    model.check_length(max_length)
    variants = chosen_sets(model, heads) if heads else every_head_and_layer(model)
    study = {
        "experiment": "ablation",
        "model": model.describe(),
        "task": task.describe(),
        "options": {"how": str(way), "max_length": max_length, "seed": seed,
                    "heads": list(heads) if heads else None,
                    "budget": asdict(budget) if budget else None},
        "versions": versions(),
    }  # fmt: skip

    def prepare(shown: Progress) -> Work:
        work = Ablation(model, task, variants, way, max_length, seed, budget, shown)
        return lambda folder: _work(work, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _work(work: Ablation, folder: RunFolder | None) -> Results:
    """Do the sweep and turn the predictions into a table."""
    shown = work.progress
    shown.say(
        f"{work.task.name}: {len(work.cases):,} examples x {len(work.variants):,} things off"
        + (", the last layer for the first token alone" if work.first_only else "")
    )
    shown.begin(f"{work.model.name} on {work.task.name}", work.cost)
    run(work.parts, work.work, folder, 0, work)
    shown.end()
    warnings = work.warnings()
    for warning in warnings:
        shown.say(f"note: {warning}")
    record: dict[str, Any] = {"tables": ["ablation"], "analyses": [], "corpora": [], "left_out": {}}
    record |= {"intact": work.intact, "warnings": warnings, "examples": len(work.cases),
               "margin": work.margin}  # fmt: skip
    return Results(record, ablation=pa.Table.from_pylist(work.rows, schema=ABLATION))
