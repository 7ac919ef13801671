"""The verb `gates`."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import TwoPartRun
from headscope.experiments.gates.schedule import Schedule

DEFAULT = Schedule()
PENALTIES = ",".join(f"{penalty:g}" for penalty in DEFAULT.penalties)
Penalties = Annotated[
    str, typer.Option(help="Penalties for open gates, in increasing order, with commas.")
]


def parse_penalties(text: str) -> tuple[float, ...]:
    """The value of `--penalties`.

    >>> parse_penalties("0.1,1")
    (0.1, 1.0)
    """
    return tuple(options.comma_list(text, options.finite_number, "numbers"))


@verb(
    "gates",
    group="Heads and a task",
    order=240,
    examples=(
        "gates minilm tour -o run",
        "gates my-folder glue/mrpc -o run --penalties 0.1,0.5,1 --seeds 5",
    ),
)
def gates_verb(
    run: TwoPartRun,
    penalties: Penalties = PENALTIES,
    steps: Annotated[
        int, typer.Option(min=1, help="Training batches at each penalty.")
    ] = DEFAULT.steps,
    rate: Annotated[
        float, typer.Option(min=0, callback=options.finite, help="Learning rate of the gates.")
    ] = DEFAULT.rate,
    encoder_rate: Annotated[
        float,
        typer.Option(
            min=0,
            callback=options.finite,
            help="Learning rate of the encoder; 0 keeps its weights frozen.",
        ),
    ] = DEFAULT.encoder_rate,
    temperature: Annotated[
        float,
        typer.Option(
            min=0, callback=options.finite, help="Temperature of the hard-concrete distribution."
        ),
    ] = DEFAULT.temperature,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of trainings, each with its own seed.")
    ] = 3,
    attention: Annotated[
        str | None,
        typer.Option(
            help="Gates for the heads of one kind alone: encoder, decoder or cross (models with "
            "an encoder and a decoder)."
        ),
    ] = None,
) -> None:
    """Train a gate on every head, and see which stay open as open gates cost more."""
    from headscope.experiments.gates import gates

    schedule = Schedule(
        parse_penalties(penalties), steps, rate, encoder_rate, temperature=temperature
    )
    run(gates, schedule=schedule, seeds=seeds, attention=attention)
