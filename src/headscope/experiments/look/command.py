"""The verb `look`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb


@verb(
    "look",
    group="Start",
    order=30,
    examples=(
        "look minilm 'The cat that we fed sat down.'",
        "look minilm 'It rained.' --pair 'The streets are wet.' -o page.html",
    ),
)
def look_verb(
    model: options.ModelName,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to look at.")],
    pair: Annotated[
        str | None, typer.Option(help="A second text, read together with the first.")
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="HTML file to write.")] = Path(
        "look.html"
    ),
    device: options.Device = "cpu",
    dtype: options.Dtype = "float32",
) -> None:
    """Show the attention map of every head on one text, as an HTML page."""
    from headscope.cli.show import Screen
    from headscope.experiments.look import look
    from headscope.model import load

    seen = look(load(model, device=device, dtype=dtype), text, pair)
    screen = Screen()
    screen.line(repr(seen))
    screen.path(seen.save(out).resolve())
