"""The verb `relevance`."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import TaskRun
from headscope.model.defaults import EPSILON


@verb(
    "relevance",
    group="Heads and a task",
    order=230,
    examples=("relevance minilm tour -o run", "relevance my-folder glue/mrpc -o run --limit 500"),
)
def relevance_verb(
    run: TaskRun,
    epsilon: Annotated[
        float,
        typer.Option(
            min=0, callback=options.finite, help="Stabiliser of the epsilon rule for linear layers."
        ),
    ] = EPSILON,
) -> None:
    """Measure the relevance of each head to the prediction (LRP), beside other measures."""
    from headscope.experiments.relevance import relevance

    run(relevance, epsilon=epsilon)
