"""The verb of the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.plugin import verb


@verb("word-order", examples=("word-order minilm tour -o order",))
def word_order_command(
    model: Annotated[str, typer.Argument(help="A model.")],
    data: Annotated[str, typer.Argument(help="Texts.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder.")],
    limit: Annotated[int | None, typer.Option(help="Only the first texts, this many.")] = None,
) -> None:
    """How much broader heads look when words are shuffled."""
    from headscope.plugin import read
    from headscope_sample.word_order import word_order

    word_order(model, read(data, limit=limit), out=out)
    print((out / "report.html").resolve())
