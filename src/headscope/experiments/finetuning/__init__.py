"""Fine-tuning: one model on one or several tasks, from one or several starts (Kovaleva et al. 2019,
section 3 and table 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.experiments.finetuning.hyperparameters import Hyperparameters, Start

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.experiments.finetuning.tables import FineTuningRow, TrainingRecord

__all__ = ["Hyperparameters", "Start", "finetune", "finetune_table"]


def finetune(
    model: str | Path,
    name: str,
    out: str | Path,
    *,
    hyperparameters: Hyperparameters | None = None,
    glue_dir: str | Path | None = None,
    train: str = "train",
    dev: str = "dev",
    limit: int | None = None,
    progress: Progress | None = None,
) -> TrainingRecord:
    """Fine-tune a model on a task; the folder loads as any other model.

    Args:
        name: a task that can be trained: `glue/mrpc` and the other GLUE tasks, `classify:FILE`,
            `imdb:FOLDER`.
        out: the folder of the fine-tuned model; an interrupted training is resumed from it.
        train, dev: parts of GLUE (or names of its files); for `classify`, `dev` is a file.
        limit: train on this many examples only, the first ones.

    Returns:
        What the folder's `headscope.json` holds: the study, and the metrics before and after.

    >>> finetune("minilm", "tour", "tuned")
    Traceback (most recent call last):
    headscope.errors.HeadscopeError: tour has nothing to train; it needs classes or GLUE's scores
    """
    from headscope._util.progress import progress_for_terminal
    from headscope.experiments.finetuning.compute import FineTuning, train_and_dev
    from headscope.model.loading import quiet_transformers

    tasks = train_and_dev(name, train, dev, glue_dir=glue_dir, limit=limit)
    with quiet_transformers(), progress or progress_for_terminal() as shown:
        chosen = hyperparameters or Hyperparameters()
        return FineTuning(str(model), *tasks, chosen, Path(out), shown).run()


def finetune_table(
    model: str | Path,
    names: Sequence[str],
    out: str | Path,
    *,
    hyperparameters: Hyperparameters | None = None,
    starts: Sequence[Start] = tuple(Start),
    seeds: Sequence[int] = (0,),
    glue_dir: str | Path | None = None,
    train: str = "train",
    dev: str = "dev",
    limit: int | None = None,
    progress: Progress | None = None,
) -> list[FineTuningRow]:
    """Fine-tune on several tasks from several starts, each in a folder of its own under `out`.

    Args:
        names: tasks; for the other arguments see `finetune`.
        starts, seeds: of the trainings of each task, instead of those of `hyperparameters`.

    Returns:
        One row per task, start, seed and metric (see `table_cells`).
    """
    from dataclasses import replace
    from itertools import product

    from headscope.experiments.finetuning.tables import UNTRAINED_TOP, FineTuningRow

    rows = []
    for name, start, seed in product(names, starts, seeds):
        folder = Path(out) / f"{name.rpartition('/')[2]}-{start}-{seed}"
        record = finetune(
            model,
            name,
            folder,
            hyperparameters=replace(hyperparameters or Hyperparameters(), start=start, seed=seed),
            glue_dir=glue_dir,
            train=train,
            dev=dev,
            limit=limit,
            progress=progress,
        )
        columns = {str(start): record.trained}
        if start is Start.FROZEN:
            columns = {UNTRAINED_TOP: record.untrained} | columns
        rows += [
            FineTuningRow(name, column, score, seed, str(folder))
            for column, scores in columns.items()
            for score in scores
        ]
    return rows
