"""The verb `explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb


@verb(
    "explore",
    group="Start",
    order=20,
    examples=("explore", "explore MODEL RUN", "explore MODEL --beside OTHER"),
)
def explore_verb(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="A hub id, a folder, or 'minilm'.")
    ] = "minilm",
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders of the same model.")
    ] = None,
    beside: Annotated[
        list[str] | None, typer.Option(help="Another model to compare with; may be repeated.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on.", show_default="any free one")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    device: options.Device = "cpu",
    languages: options.LanguagePair = None,
) -> None:
    """Open a live page on this computer: type a text, look at heads, switch them off."""
    import webbrowser

    from headscope.cli.show import Screen
    from headscope.experiments.explore import open_model, serve
    from headscope.runs import RunResults

    known = [RunResults.read(run) for run in runs or ()]
    models = [open_model(model, device, options.language_pair(languages))]
    models += [open_model(other, device) for other in beside or ()]
    screen = Screen()

    def ready(address: str) -> None:
        screen.line("running on this computer alone; Ctrl-C ends it")
        screen.line(address)
        screen.console.file.flush()  # somebody may wait for it at the other end of a pipe
        if browser:
            webbrowser.open(address)

    serve(models, known, port=port, ready=ready)
