"""Ablation: switch heads and layers off and see what a task loses or gains (Kovaleva et al. 2019,
section 4.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.evidence.sequential import Decider
    from headscope.experiments.ablation.tables import AblationRow
    from headscope.model import Model
    from headscope.runs import RunResults
    from headscope.tasks import Task


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
) -> RunResults:
    """Switch off every head and every layer, one at a time, and see what the task loses or gains.

    Args:
        task: a task or its name; a model given by name is loaded with what the task needs on top.
        out: a run folder, which makes the sweep resumable; None keeps the results in memory.
        heads: sets of heads to switch off together instead (`["L3.H4,L5"]`).
        how: output substituted for a head that is off: `uniform`, `zero` or `mean`.
        budget: stop evaluating a head whose verdict is decided.

    >>> from headscope import task
    >>> results = ablate("minilm", task("tour", limit=24), heads=["L0.H0", "L5"])
    >>> [effect.name for effect in effects(results)]
    ['L5', 'L0.H0']
    """
    from headscope.experiments._shared.loading import load_for
    from headscope.experiments.ablation.compute import Ablation
    from headscope.experiments.base import run_study

    ablation = Ablation(
        *load_for(model, task),
        heads=heads,
        how=how,
        max_length=max_length,
        seed=seed,
        decider=budget,
    )
    return run_study(ablation, out=out, progress=progress, command=command)


def effects(
    results: RunResults, unit: str | None = None, metric: str | None = None
) -> list[AblationRow]:
    """What a task's metric does when something is off, the largest loss first.

    Args:
        unit: `head`, `layer` or `set`; None: all.
        metric: one of the task's; None: its first.
    """
    from headscope.experiments.ablation.tables import ABLATION, AblationSummary

    scores = results.record.summary_as(AblationSummary).intact
    score = next(score for score in scores if metric in (None, score.metric))
    wanted = {"metric": score.metric} | ({} if unit is None else {"unit": unit})
    return sorted(results.rows(ABLATION, **wanted), key=lambda row: row.gain(score.better))
