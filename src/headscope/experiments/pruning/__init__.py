"""Pruning: remove the heads that a task needs least, and state what that costs (Michel et al.
2019; Voita et al. 2019).
"""

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

RUN = "run"
"""The run folder within the folder of a pruned model."""


def prune(
    model: Model | str | Path,
    task: Task | str,
    *,
    keep: float | None = None,
    max_drop: float | str | None = None,
    confidence: float = 0.95,
    heads: str | None = None,
    choose: Task | None = None,
    by: str = "importance",
    beside: Sequence[str] = ("random",),
    how: str = "zero",
    step: int | None = None,
    tune: float = 0.0,
    onnx: bool = True,
    schedule: Schedule | None = None,
    out: str | Path | None = None,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Remove the heads that a task needs least, and state what that costs on held-out data.

    Args:
        task: what the loss is stated on; a model given by name is loaded with what it needs on top.
        keep: the share of heads to keep; or
        max_drop: what the metric may lose on new data, 0.005 or "0.5%" for half a point; half of
            the held-out data then certify how many heads may go, and the loss is stated on the
            other half; or
        confidence: that the loss is not larger;
        heads: the heads to remove, `"L3.H4,L5"` or `"cross L0.H1"`.
        choose: what the heads are chosen by; None: see `tasks.two_parts`.
        by: criterion of the choice: `importance`, `ablation` or `gates`; beside: criteria whose
            curves are drawn for comparison, `random` among them.
        how: output substituted for a removed head: `zero`, or its `mean` over the choosing data.
        step: score the heads again after this many removals.
        tune: epochs of fine-tuning afterwards, on the choosing data.
        onnx: write an ONNX file as well.
        schedule: how gates are trained.
        out: the folder of the pruned model; None keeps the results in memory.

    >>> from headscope._util.progress import NoProgress
    >>> from headscope.tasks import task
    >>> few = task("tour", limit=24)
    >>> results = prune("minilm", few, keep=0.5, beside=(), progress=NoProgress())
    >>> results.record.summary["pruned"]["kept"]
    36
    """
    from headscope.errors import HeadscopeError
    from headscope.experiments._shared.held_out import choice_and_test
    from headscope.experiments._shared.loading import load_for
    from headscope.experiments.base import run_study
    from headscope.experiments.gates.schedule import Schedule
    from headscope.experiments.pruning.compute import Pruning
    from headscope.experiments.pruning.target import PruningTarget

    target = PruningTarget(
        keep=keep,
        max_drop=max_drop,
        confidence=confidence,
        heads=heads,
        by=by,
        beside=tuple(beside),
        how=how,
        step=step,
        tune=tune,
        schedule=schedule or Schedule(),
        max_length=max_length,
        seed=seed,
        onnx=onnx,
    )
    if tune and out is None:
        raise HeadscopeError("fine-tuning afterwards needs a folder to work in (out)")
    choice, test = choice_and_test(task, choose)
    loaded, test = load_for(model, test)
    certify = None
    if target.limit is not None:
        certify, test = test.halves()
    experiment = Pruning(loaded, choice, test, target, certify)
    folder = None if out is None else _run_folder(Path(out))
    return run_study(experiment, out=folder, progress=progress, command=command)


def _run_folder(home: Path) -> Path:
    """The run folder of a pruned model; raises an error where other things are in its folder."""
    from headscope._util.atomic import is_empty
    from headscope.errors import RunError

    if not (home / RUN).exists() and not is_empty(home):
        raise RunError(f"{home} has other things in it; give a new folder")
    return home / RUN
