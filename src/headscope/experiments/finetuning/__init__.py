"""Fine-tuning one model on one or several tasks, from one or several starts: Kovaleva's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope._util.progress import Progress, progress_for_terminal
from headscope.errors import HeadscopeError
from headscope.experiments.finetuning.compute import FineTuning, Recipe, Start
from headscope.model.loading import quiet_transformers
from headscope.tasks import Classification, Regression, Task, task

Row = dict[str, Any]
COLUMNS = ("task", "metric", "guessing", "frozen, untrained head", "frozen", "random", "pretrained")
"""Kovaleva's three columns; hers for frozen weights looks like an untrained head, so both."""


def finetune(
    model: str | Path,
    name: str,
    out: str | Path,
    *,
    recipe: Recipe | None = None,
    glue_dir: str | Path | None = None,
    train: str = "train",
    dev: str = "dev",
    limit: int | None = None,
    progress: Progress | None = None,
) -> Row:
    """Fine-tune a model on a task; the folder loads as any other model.

    Args:
        name: a task that can be trained: `glue/mrpc` and its sisters, `classify:FILE`,
            `imdb:FOLDER`.
        train, dev: parts of GLUE (or names of its files); for `classify`, `dev` is a file.
        limit: train on the first so many examples only.

    Returns:
        What the folder's `headscope.json` holds: the study, and the metrics before and after.
    """
    learned = trainable(task(name, part=train, glue_dir=glue_dir, limit=limit))
    tested = name
    if name.startswith("classify:"):
        if dev == "dev":
            raise HeadscopeError("a task of your own needs --dev FILE with its development part")
        tested = f"classify:{dev}"
    held = trainable(task(tested, part=dev, glue_dir=glue_dir))
    if isinstance(held, Classification) and isinstance(learned, Classification):
        held = Classification(held.name, held.corpus, held.metrics, learned.classes)
    with quiet_transformers(), progress or progress_for_terminal() as shown:
        recipe = recipe or Recipe()
        return FineTuning(str(model), learned, held, recipe, Path(out), shown).run()


def trainable(one: Task) -> Classification | Regression:
    """The task, if it has a head to train."""
    if isinstance(one, Classification | Regression):
        return one
    raise HeadscopeError(f"{one.name} has nothing to train; it needs classes or GLUE's scores")


def table(
    model: str | Path,
    names: Sequence[str],
    out: str | Path,
    *,
    recipe: Recipe | None = None,
    starts: Sequence[Start] = tuple(Start),
    seeds: Sequence[int] = (0,),
    **options: Any,
) -> list[Row]:
    """Fine-tune on several tasks from several starts, each in a folder of its own under `out`.

    Returns:
        One row per task, start, seed and metric: value, interval, and what guessing gives.
    """
    recipe = recipe or Recipe()
    made = []
    for name in names:
        for start in starts:
            for seed in seeds:
                folder = Path(out) / f"{name.rpartition('/')[2]}-{start}-{seed}"
                record = finetune(
                    model, name, folder, recipe=replace(recipe, start=start, seed=seed), **options
                )
                about = {"task": name, "seed": seed, "folder": str(folder)}
                stages = [("trained", str(start))]
                if start is Start.FROZEN:
                    stages.insert(0, ("untrained", "frozen, untrained head"))
                made += [
                    about | {"start": said} | row for stage, said in stages for row in record[stage]
                ]
    return made


def cells(rows: list[Row]) -> list[tuple[str, ...]]:
    """The table as text: a line per task and metric, the mean over seeds in every column."""
    made = []
    for name, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
        mine = [row for row in rows if (row["task"], row["metric"]) == (name, metric)]
        nothing = mine[0]["nothing"]
        line = [name, metric, "-" if nothing is None else f"{100 * nothing:.1f}"]
        for start in COLUMNS[3:]:
            found = [row for row in mine if row["start"] == start]
            if not found:
                line.append("-")
                continue
            mean = sum(row["value"] for row in found) / len(found)
            spread = (
                f" [{100 * found[0]['low']:.1f}, {100 * found[0]['high']:.1f}]"
                if len(found) == 1
                else f" ({len(found)} seeds: "
                + ", ".join(f"{100 * row['value']:.1f}" for row in found)
                + ")"
            )
            line.append(f"{100 * mean:.1f}{spread}")
        made.append(tuple(line))
    return made
