"""The report: one HTML file that opens from disk and asks nothing of any network.

Scripts, styles and data are written into the page. A content security policy lets run only the
scripts whose hashes it names, so that nothing from a corpus could ever run, even if some of it
escaped its quotes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import jinja2
import vl_convert

from headscope._util.atomic import write_text
from headscope.analyses._linking.section import LINKING, WAYS, across
from headscope.report.arcs import Picture
from headscope.report.charts import map_chart, spec
from headscope.report.head_cards import cards, striking
from headscope.report.model_summary import portrait
from headscope.report.numbers import COLUMNS
from headscope.report.panels import panels
from headscope.report.sections import Panel
from headscope.report.views import View, views
from headscope.runs import Results

Record = dict[str, Any]


def write_report(results: list[Results], path: Path) -> Path:
    """Write one page for one or more runs; the run folder is all that it needs."""
    write_text(path, render(views(results), panels(results), results))
    return path


def render(shown: list[View], experiments: list[Panel], runs: list[Results]) -> str:
    """The page of some views, after the experiments."""
    sections, data = [], []
    extra = [chart.spec() for panel in experiments for chart in panel.charts]
    first = [0, *accumulate(len(panel.charts) for panel in experiments)]
    for number, view in enumerate(shown):
        charts: list[Record] = []
        analyses = []
        for analysis, made in view.charts():
            analyses.append(
                analysis
                | {"charts": made, "first": len(charts)}
                | {"scenes": view.scenes(analysis["analysis"])}
                | {"linking": analysis["analysis"] in LINKING}
                | {"board": view.boards.get(analysis["analysis"])}
            )
            charts += [chart.spec() for chart in made]
        maps, known = view.maps(), cards(view, runs)
        data.append(
            {"charts": charts, "maps": maps, "table": view.table(),
             "headlines": [line.text for line in view.headlines], "title": view.title,
             "cards": {name: card.lines for name, card in known.items() if card.lines}}
        )  # fmt: skip
        sections.append(
            {"number": number, "view": view, "analyses": analyses, "maps": bool(maps),
             "portrait": portrait(view, runs), "cards": striking(view, known)}
        )  # fmt: skip
    compared = [(one, across(one)) for one in runs if one.record["corpora"]]
    return page(
        "report.html",
        {"views": data, "map": spec(map_chart()), "extra": extra},
        title=shown[0].title if shown else experiments[0].title,
        experiments=list(zip(first, experiments, strict=False)),
        sections=sections,
        compared=[(one.record, table) for one, table in compared if table],
        ways=WAYS,
    )


def look_page(title: str, heads: int, text: Record) -> str:
    """The page of one text: every head's map, no statistics."""
    view = {"charts": [], "maps": [text], "headlines": [], "title": title}
    data = {"views": [view], "map": spec(map_chart()), "extra": []}
    return page("look.html", data, title=title, heads=heads, tokens=text["tokens"])


def page(template: str, data: Record, **values: Any) -> str:
    """Fill a template; `data` goes to the scripts as JSON that cannot end its element."""
    scripts = [bundle(), asset("report.js")]
    payload = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return (
        environment()
        .get_template(template)
        .render(
            policy=policy(scripts),
            style=asset("report.css"),
            scripts=scripts,
            data=payload.replace("<", "\\u003c").replace("\u2028", "\\u2028"),
            columns=COLUMNS,
            **values,
        )
    )


@cache
def environment() -> jinja2.Environment:
    """The templates; whatever is filled in is escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.report"), autoescape=True, trim_blocks=True
    )


def drawing(one: Picture) -> str:
    """A sentence with its arcs, as SVG."""
    return environment().get_template("arcs.svg").render(one=one)


def policy(scripts: list[str]) -> str:
    """A content security policy under which only these scripts run and nothing is fetched."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
    )


@cache
def bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script, from the package that draws the PNGs too."""
    default = cast(Callable[[], str], vl_convert.javascript_bundle)  # its stub wants an argument
    return default().replace("</script", "<\\/script")


def asset(name: str) -> str:
    """A script or style of the report."""
    return files("headscope.report").joinpath("static", name).read_text(encoding="utf-8")
