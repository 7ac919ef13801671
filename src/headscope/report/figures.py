"""The charts of the report as files, for papers and slides."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import vl_convert

from headscope._util.atomic import explain_write_errors, write_bytes, write_text
from headscope.report.charts import Chart
from headscope.report.page import drawing, sections_of
from headscope.report.views import views
from headscope.runs import RunResults


def write_figures(results: list[RunResults], folder: Path) -> list[Path]:
    """Write every chart, and every sentence with arcs, as PNG and SVG; returns the files."""
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for part in sections_of(results):
        for chart in part.charts:
            written += _chart(folder, part.title, chart)
    for view in views(results):
        for analysis, section, charts in view.charts():
            for chart in charts:
                written += _chart(folder, view.title, chart)
            own = section.pictures if section is not None else None
            for title, pictures in view.pictures(analysis.analysis) if own is None else own:
                for picture in pictures:
                    svg = drawing(picture)
                    png = vl_convert.svg_to_png(svg, scale=2)
                    name = f"{view.title}-{analysis.analysis}-{title}-{picture.example}"
                    written += _write(folder, name, svg, png)
    return written


def _chart(folder: Path, title: str, chart: Chart) -> list[Path]:
    about = {"text": f"{title}: {chart.title}", "subtitle": textwrap.wrap(chart.caption, 90)}
    drawn = chart.spec() | {"background": "white", "title": about}
    svg = vl_convert.vegalite_to_svg(drawn)
    png = vl_convert.vegalite_to_png(drawn, scale=2)
    return _write(folder, f"{title}-{chart.name}", svg, png)


def _write(folder: Path, title: str, svg: str, png: bytes) -> list[Path]:
    """Both forms of a picture, under a name that every file system takes."""
    name = re.sub(r"[^\w.-]+", "-", title.replace("'", ""))
    write_bytes(folder / f"{name}.png", png)
    write_text(folder / f"{name}.svg", svg)
    return [folder / f"{name}.png", folder / f"{name}.svg"]
