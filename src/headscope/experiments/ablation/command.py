"""The verb `ablate`."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import TaskRun


@verb(
    "ablate",
    group="Heads and a task",
    order=210,
    examples=(
        "ablate minilm tour -o run",
        "ablate minilm tour -o run --heads L3.H4,L5 --how zero",
        "ablate my-folder glue/mrpc -o run --budget",
    ),
)
def ablate_verb(
    run: TaskRun,
    heads: Annotated[
        list[str] | None,
        typer.Option(
            help="Switch off only this set of heads and layers, together, such as 'L3.H4,L5'; "
            "repeatable."
        ),
    ] = None,
    how: Annotated[
        str, typer.Option(help="Output substituted for a head: 'uniform', 'zero' or 'mean'.")
    ] = "uniform",
    budget: Annotated[
        bool,
        typer.Option("--budget", help="Stop evaluating a head as soon as its effect is decided."),
    ] = False,
    margin: Annotated[
        float,
        typer.Option(
            min=0,
            callback=options.finite,
            help="With --budget: effects smaller than this count as no effect.",
        ),
    ] = 0.01,
    error: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            callback=options.finite,
            help="With --budget: probability of a wrong verdict on a head.",
        ),
    ] = 0.05,
    dtype: options.Dtype = "float32",
) -> None:
    """Switch off each head and each layer in turn, and measure the effect on a task."""
    from headscope.evidence.sequential import Decider
    from headscope.experiments.ablation import ablate

    decider = Decider(margin, error) if budget else None
    run(ablate, dtype=dtype, heads=heads, how=how, budget=decider)
