"""The verb `importance`."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import TaskRun


@verb(
    "importance",
    group="Heads and a task",
    order=220,
    examples=(
        "importance minilm tour -o run",
        "importance my-folder glue/mrpc -o run --normalise --no-gradients",
    ),
)
def importance_verb(
    run: TaskRun,
    normalise: Annotated[
        bool,
        typer.Option("--normalise", help="Rank heads after dividing by the norm of their layer."),
    ] = False,
    gradients: Annotated[
        bool, typer.Option(help="Also measure the gradient of the loss in attention weights.")
    ] = True,
    dtype: options.Dtype = "float32",
) -> None:
    """Measure the sensitivity of the task loss to each head (Michel et al. 2019)."""
    from headscope.experiments.importance import importance

    run(importance, dtype=dtype, normalise=normalise, gradients=gradients)
