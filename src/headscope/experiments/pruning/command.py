"""The verb `prune`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import TwoPartRun
from headscope.experiments.gates.command import PENALTIES, Penalties, parse_penalties


@dataclass(frozen=True)
class PruningRun(TwoPartRun):
    """The same, written to the folder of a model."""

    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Folder of the pruned model; an interrupted run is resumed."
        ),
    ]


@verb(
    "prune",
    group="Heads and a task",
    order=250,
    examples=(
        "prune minilm tour --keep 50% -o small",
        "prune my-folder glue/mrpc --max-drop 0.5% --by ablation --tune 1 -o small",
    ),
)
def prune_verb(
    run: PruningRun,
    keep: Annotated[
        str | None, typer.Option(help="Share of heads to keep, such as 60% or 0.6.")
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option(
            help="Instead of --keep: the largest drop of the metric on new data, such as 0.5% for "
            "half a point; half of the held-out data certify how many heads may go."
        ),
    ] = None,
    confidence: Annotated[
        str, typer.Option(help="Confidence that the drop on new data is no larger than --max-drop.")
    ] = "95%",
    heads: Annotated[
        str | None,
        typer.Option(
            help="Instead of both: the heads to remove, 'L3.H4,L5' or 'cross L0.H1,enc.L2'."
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(help="Criterion for removing heads: importance, ablation or gates.")
    ] = "importance",
    beside: Annotated[
        str,
        typer.Option(help="Criteria whose curves are added for comparison, with commas; '': none."),
    ] = "random",
    how: Annotated[
        str,
        typer.Option(
            help="Output substituted for a removed head: 'zero', or its 'mean' (folded into the "
            "bias)."
        ),
    ] = "zero",
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Score the remaining heads again after removing this many."),
    ] = None,
    tune: Annotated[
        float,
        typer.Option(
            min=0,
            callback=options.finite,
            help="Epochs of fine-tuning after pruning, on the choosing data.",
        ),
    ] = 0.0,
    onnx: Annotated[bool, typer.Option(help="Also write an ONNX file.")] = True,
    penalties: Penalties = PENALTIES,
) -> None:
    """Remove the heads that a task needs least, and save the smaller, faster model."""
    kept = None if keep is None else options.share(keep)
    if max_drop is not None:
        options.share(max_drop)  # refused before anything is loaded
    sure = options.share(confidence)

    from headscope.cli.show import Screen
    from headscope.experiments.gates.schedule import Schedule
    from headscope.experiments.pruning import RUN, prune

    run(
        prune,
        run_folder=run.out / RUN,
        keep=kept,
        max_drop=max_drop,
        confidence=sure,
        heads=heads,
        by=by,
        beside=[name.strip() for name in beside.split(",") if name.strip()],
        how=how,
        step=step,
        tune=tune,
        onnx=onnx,
        schedule=Schedule(parse_penalties(penalties)),
    )
    if not run.as_json:
        Screen().path(run.out.resolve())
