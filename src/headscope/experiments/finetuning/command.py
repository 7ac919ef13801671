"""The verb `finetune`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import options
from headscope.cli.app import verb


@verb(
    "finetune",
    group="Compare and train",
    order=120,
    examples=(
        "finetune bert-base-uncased glue/mrpc -o tuned",
        "finetune minilm classify:train.csv --dev dev.csv --epochs 2 -o tuned",
        "finetune bert-base-uncased glue/mrpc glue/rte --table --seeds 0,1,2 -o table",
    ),
)
def finetune_verb(
    model: options.ModelName,
    tasks: Annotated[
        list[str],
        typer.Argument(metavar="TASK", help="Tasks: glue/NAME, classify:FILE or imdb:FOLDER."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Folder of the fine-tuned model; an interrupted run is resumed."
        ),
    ],
    random_init: Annotated[
        bool, typer.Option("--random-init", help="Start from random weights.")
    ] = False,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Train only the classifier on top of the encoder.")
    ] = False,
    whole_table: Annotated[
        bool,
        typer.Option(
            "--table", help="Train from every start, each in a folder of its own below --out."
        ),
    ] = False,
    seeds: Annotated[str, typer.Option(help="With --table: random seeds, with commas.")] = "0",
    epochs: Annotated[
        float, typer.Option(min=0.01, callback=options.finite, help="Passes over the data.")
    ] = 3,
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 32,
    rate: Annotated[
        float, typer.Option(min=0, callback=options.finite, help="Learning rate.")
    ] = 2e-5,
    head_rate: Annotated[
        float,
        typer.Option(
            min=0,
            callback=options.finite,
            help="Learning rate of the classifier on a frozen encoder.",
        ),
    ] = 1e-3,
    length: Annotated[int, typer.Option(min=1, help="Truncate texts to this many tokens.")] = 128,
    train: Annotated[str, typer.Option(help="Part of the data to train on.")] = "train",
    dev: Annotated[
        str, typer.Option(help="Part of the data to evaluate on; for classify:FILE, another file.")
    ] = "dev",
    glue_dir: options.GlueDir = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Fine-tune a model on a task, or on several tasks from every start (Kovaleva et al. 2019)."""
    if len(tasks) > 1 and not whole_table:
        raise typer.BadParameter("several tasks need --table, which gives each its own folder.")
    if random_init and frozen:
        raise typer.BadParameter("--random-init and --frozen exclude each other.")
    numbers = options.comma_list(seeds, int, "whole numbers")

    from headscope.experiments.finetuning import finetune, finetune_table
    from headscope.experiments.finetuning.hyperparameters import Hyperparameters, Start
    from headscope.experiments.finetuning.tables import FineTuningRow

    start = Start.RANDOM if random_init else Start.FROZEN if frozen else Start.PRETRAINED
    shared: dict[str, Any] = {
        "hyperparameters": Hyperparameters(start, epochs, batch, rate, head_rate, length, seed),
        "glue_dir": glue_dir,
        "train": train,
        "dev": dev,
        "limit": limit,
    }
    if whole_table:
        rows = finetune_table(model, tasks, out, seeds=numbers, **shared)
    else:
        record = finetune(model, tasks[0], out, **shared)
        rows = [FineTuningRow(tasks[0], str(start), score) for score in record.trained]
    if as_json:
        print(json.dumps([row.to_json() for row in rows], indent=2))
    else:
        _show(model, rows, out)


def _show(model: str, rows: list[Any], out: Path) -> None:
    """Print the table without the columns that nothing was trained for."""
    from headscope.cli.show import Screen
    from headscope.experiments.finetuning.tables import COLUMNS, table_cells

    columns = list(zip(COLUMNS, *table_cells(rows), strict=True))
    filled = [column for column in columns if any(cell != "-" for cell in column[1:])]
    header, *lines = zip(*filled, strict=True)
    screen = Screen()
    screen.table(f"{model}: metrics on the development part, per cent", header, lines)
    screen.path(out.resolve())
