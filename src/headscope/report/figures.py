"""The charts of the report as files, for papers and slides."""

from __future__ import annotations

import re
from pathlib import Path

import vl_convert

from headscope.report.views import views
from headscope.runs import Results
from headscope.runs.atomic import write_bytes, write_text, writing


def write_figures(results: list[Results], folder: Path) -> list[Path]:
    """Write every chart as PNG and SVG; returns the files."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for view in views(results):
        for _, charts in view.charts():
            for chart in charts:
                name = re.sub(r"[^\w.-]+", "-", f"{view.title}-{chart.name}".replace("'", ""))
                drawn = chart.spec() | {"background": "white", "title": chart.title}
                picture = vl_convert.vegalite_to_png(drawn, scale=2)
                drawing = vl_convert.vegalite_to_svg(drawn)
                write_bytes(folder / f"{name}.png", picture)
                write_text(folder / f"{name}.svg", drawing)
                written += [folder / f"{name}.png", folder / f"{name}.svg"]
    return written
