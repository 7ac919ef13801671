"""The verb `demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import run_context

SHOWN = 8
"""Heads that are named."""


@verb("demo", group="Start", order=10, examples=("demo", "demo -o my-folder"))
def demo_verb(
    out: Annotated[Path, typer.Option("-o", "--out", help="Run folder.")] = Path("headscope-demo"),
    as_json: options.Json = False,
) -> None:
    """Try everything on the bundled model and texts; ends with the path of the report."""
    from headscope.cli.show import Screen, result_data, trained_views
    from headscope.experiments.demo import run_demo
    from headscope.report.head_cards import head_cards, striking_cards
    from headscope.report.model_summary import model_summary
    from headscope.report.page import write_report

    runs = run_demo(out, **run_context())
    page = write_report([*runs[:0:-1], runs[0]], out / "report.html").resolve()
    if as_json:
        print(json.dumps([result_data(run, page) for run in runs], indent=2))
        return
    screen = Screen()
    view = trained_views(runs[0])[0]
    summary = model_summary(view, runs)
    for text in summary.text if summary is not None else ():
        screen.line(text)
    for card in striking_cards(view, head_cards(view, runs))[:SHOWN]:
        screen.line(f"{card.title}. {card.lines[0]}")
    screen.line(f"next: headscope roles {out}")
    screen.line("next: headscope look minilm 'The cat that we fed sat down.'")
    screen.line("next: headscope scan MODEL DATA -o run")
    screen.path(page)
