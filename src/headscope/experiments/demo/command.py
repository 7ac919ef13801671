"""The verb `demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import run_context

MOST = 20
"""Lines of the summary; the next steps and the path follow."""


@verb("demo", group="Start", order=10, examples=("demo", "demo -o my-folder"))
def demo_verb(
    out: Annotated[Path, typer.Option("-o", "--out", help="Run folder.")] = Path("headscope-demo"),
    as_json: options.Json = False,
) -> None:
    """Try everything on the bundled model and texts; ends with the path of the report."""
    from headscope.cli.show import Screen, result_data
    from headscope.experiments.demo import run_demo
    from headscope.report.page import write_report

    runs = run_demo(out, **run_context())
    page = write_report([*runs[:0:-1], runs[0]], out / "report.html").resolve()
    if as_json:
        print(json.dumps([result_data(run, page) for run in runs], indent=2))
        return
    screen = Screen()
    screen.summary(runs, MOST)
    screen.line(f"next: headscope roles {out}")
    screen.line(
        f"next: headscope explore minilm {out} {out}/ablation   (a live page; extra 'explore')"
    )
    screen.line("next: headscope scan MODEL DATA -o run")
    screen.path(page)
