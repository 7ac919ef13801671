"""The verbs that end in a smaller model: gates, prune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import (
    Device,
    Figures,
    GlueDir,
    Json,
    Limit,
    MaxLength,
    ModelName,
    Out,
    Part,
    Seed,
    TaskName,
    app,
    finish,
    plainly,
    told,
)
from headscope.experiments.gates import gates
from headscope.experiments.gates.training import Schedule
from headscope.experiments.pruning import RUN, prune
from headscope.model import load
from headscope.tasks import two_parts

Choose = Annotated[
    str | None,
    typer.Option(help="Another task, or part of GLUE, to choose by; unset: GLUE's train part, or "
                 "half of the data."),
]  # fmt: skip
ChooseLimit = Annotated[
    int | None, typer.Option(help="Choose by the first so many examples of another part.")
]
Penalties = Annotated[str, typer.Option(help="What an open gate costs, one value after the other.")]
DEFAULT = ",".join(f"{one:g}" for one in Schedule().penalties)


def share(text: str) -> float:
    """A share: `0.5%` or `0.005`.

    >>> share("0.5%"), share("0.6")
    (0.005, 0.6)
    """
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a share such as 0.5% or 0.005") from None


def penalties_of(text: str) -> tuple[float, ...]:
    """Penalties with commas."""
    try:
        return tuple(float(one) for one in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} are not numbers with commas") from None


@app.command("gates")
@plainly
def gates_command(
    model: ModelName,
    task_name: TaskName,
    out: Out,
    penalties: Penalties = DEFAULT,
    steps: Annotated[
        int, typer.Option(min=1, help="Batches to learn from, at each penalty.")
    ] = Schedule().steps,
    rate: Annotated[float, typer.Option(help="Of learning, of the gates.")] = Schedule().rate,
    encoder_rate: Annotated[
        float, typer.Option(help="Of learning, of the encoder's weights; 0: they are frozen.")
    ] = 0.0,
    temperature: Annotated[float, typer.Option(help="Of the gates.")] = Schedule().temperature,
    seeds: Annotated[int, typer.Option(min=1, help="Paths, each with a seed of its own.")] = 3,
    choose: Choose = None,
    choose_limit: ChooseLimit = 1000,
    part: Part = "dev",
    glue_dir: GlueDir = None,
    limit: Limit = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Gates that learn to close: which heads stay open as open gates cost more."""
    chosen, tested = two_parts(
        task_name, choose=choose, part=part, glue_dir=glue_dir, limit=limit,
        choose_limit=choose_limit, seed=seed,
    )  # fmt: skip
    found = gates(
        load(model, top=tested.top, device=device),
        tested,
        choose=chosen,
        schedule=Schedule(
            penalties_of(penalties), steps, rate, encoder_rate, temperature=temperature
        ),
        seeds=seeds,
        out=out,
        max_length=max_length,
        seed=seed,
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command("prune")
@plainly
def prune_command(
    model: ModelName,
    task_name: TaskName,
    out: Annotated[Path, typer.Option("-o", "--out", help="The pruned model's folder; resumes.")],
    keep: Annotated[
        str | None, typer.Option(help="The share of heads to keep, 0.6 or 60%; or")
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option(help="what the metric may lose on the choosing data, 0.5% for half a point."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="How heads are chosen: importance, ablation or gates.")
    ] = "importance",
    beside: Annotated[
        str, typer.Option(help="Ways whose curves are drawn besides, with commas; '' for none.")
    ] = "random",
    how: Annotated[
        str, typer.Option(help="What a head gives that goes: zero, or mean, which a bias keeps.")
    ] = "zero",
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Estimate again what heads are worth after so many have gone."),
    ] = None,
    tune: Annotated[
        float, typer.Option(min=0, help="Epochs of fine-tuning afterwards, on the choosing data.")
    ] = 0.0,
    onnx: Annotated[bool, typer.Option(help="Write an ONNX file as well.")] = True,
    penalties: Penalties = DEFAULT,
    choose: Choose = None,
    choose_limit: ChooseLimit = 1000,
    part: Part = "dev",
    glue_dir: GlueDir = None,
    limit: Limit = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Remove the heads that a task needs least: a smaller, faster model, and what it costs."""
    chosen, tested = two_parts(
        task_name, choose=choose, part=part, glue_dir=glue_dir, limit=limit,
        choose_limit=choose_limit, seed=seed,
    )  # fmt: skip
    found = prune(
        load(model, top=tested.top, device=device),
        tested,
        choose=chosen,
        keep=None if keep is None else share(keep),
        max_drop=None if max_drop is None else share(max_drop),
        by=by,
        beside=[one for one in beside.split(",") if one],
        how=how,
        step=step,
        tune=tune,
        onnx=onnx,
        schedule=Schedule(penalties_of(penalties)),
        out=out,
        max_length=max_length,
        seed=seed,
        **told(),
    )
    finish(found, out / RUN, figures, as_json)
    if not as_json:
        print(out.resolve())
