"""The report: one HTML file that opens from disk and asks nothing of any network.

Scripts, styles and data are written into the page. A content security policy lets run only the
scripts whose hashes it names, so that nothing from a corpus could ever run, even if some of it
escaped its quotes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import jinja2
import vl_convert

from headscope._util.atomic import write_text
from headscope.report.arcs import Picture
from headscope.report.catalogue import load_sections
from headscope.report.charts import Chart, map_chart, spec
from headscope.report.head_cards import head_cards, striking_cards
from headscope.report.model_summary import model_summary
from headscope.report.numbers import COLUMNS
from headscope.report.sections import Section, run_sections
from headscope.report.views import CorpusView, views
from headscope.runs import AnalysisRecord, RunResults

Json = dict[str, Any]
"""What the page's script reads."""


def write_report(results: list[RunResults], path: Path) -> Path:
    """Write one page for one or more runs; the run folder is all that it needs."""
    write_text(path, render(results))
    return path


def sections_of(results: list[RunResults]) -> list[Section]:
    """The sections of some runs, and of those that belong together."""
    load_sections()
    return [section for make in run_sections.functions for section in make(results)]


def render(results: list[RunResults]) -> str:
    """The page of some runs: experiments, then what the heads of each model do."""
    experiments, shown = sections_of(results), views(results)
    parts = [_view_parts(number, view, results) for number, view in enumerate(shown)]
    return page(
        "report.html",
        {
            "views": [data for data, _ in parts],
            "map": spec(map_chart()),
            "extra": [chart.spec() for section in experiments for chart in section.charts],
        },
        title=shown[0].title if shown else experiments[0].title,
        experiments=list(zip(_first_charts(experiments), experiments, strict=False)),
        sections=[section for _, section in parts],
    )


def _first_charts(sections: list[Section]) -> list[int]:
    """The number of the first chart of each section, counted over the page."""
    return [0, *accumulate(len(section.charts) for section in sections)]


def _view_parts(number: int, view: CorpusView, results: list[RunResults]) -> tuple[Json, Json]:
    """What the script and the template need of a view."""
    cards, maps, analyses = head_cards(view, results), view.maps(), list(view.charts())
    data = {
        "charts": [chart.spec() for _, _, charts in analyses for chart in charts],
        "maps": maps,
        "table": view.table(),
        "headlines": [line.text for line in view.headlines],
        "title": view.title,
        "cards": {name: card.lines for name, card in cards.items() if card.lines},
    }
    section = {
        "number": number,
        "view": view,
        "analyses": list(_analysis_sections(view, analyses)),
        "maps": bool(maps),
        "summary": model_summary(view, results),
        "cards": striking_cards(view, cards),
    }
    return data, section


def _analysis_sections(
    view: CorpusView, analyses: list[tuple[AnalysisRecord, Section | None, list[Chart]]]
) -> Iterator[Json]:
    """What the template needs of each analysis."""
    first = 0
    for analysis, section, charts in analyses:
        own = section.pictures if section is not None else None
        yield {
            "name": analysis.analysis,
            "about": analysis.about,
            "details": analysis.details,
            "section": section,
            "pictures": view.pictures(analysis.analysis) if own is None else own,
            "charts": charts,
            "first": first,
        }
        first += len(charts)


def look_page(title: str, heads: int, text: Json) -> str:
    """The page of one text: every head's map, no statistics."""
    view = {"charts": [], "maps": [text], "headlines": [], "title": title}
    data = {"views": [view], "map": spec(map_chart()), "extra": []}
    return page("look.html", data, title=title, heads=heads, tokens=text["tokens"])


def page(template: str, data: Json, **values: Any) -> str:
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


def drawing(picture: Picture) -> str:
    """A sentence with its arcs, as SVG."""
    return environment().get_template("arcs.svg").render(one=picture)


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
