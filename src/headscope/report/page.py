"""The report: one HTML file that opens from disk and asks nothing of any network.

Scripts, styles and data are written into the page. A content security policy lets run only the
scripts whose hashes it names, so that nothing from a corpus could ever run, even if some of it
escaped its quotes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from headscope._util.atomic import write_text
from headscope.evidence import RoleKind
from headscope.report.analysis_findings import analysis_finding
from headscope.report.arcs import Picture
from headscope.report.best_heads import best_table
from headscope.report.catalogue import load_sections
from headscope.report.head_cards import head_cards
from headscope.report.joined import what_matters, what_next
from headscope.report.model_summary import model_summary
from headscope.report.numbers import COLUMNS
from headscope.report.payload import Payload
from headscope.report.sections import Section, run_sections
from headscope.report.views import RANDOM, CorpusView, views
from headscope.runs import RunResults

Json = dict[str, Any]
"""What a template reads."""


def write_report(results: list[RunResults], path: Path) -> Path:
    """Write one page for one or more runs; the run folder is all that it needs."""
    write_text(path, render(results))
    return path


def sections_of(results: list[RunResults]) -> list[Section]:
    """The sections of some runs, of those that belong together, and what matters by all."""
    return _sections(telling_views(results), results)


def _sections(shown: list[CorpusView], results: list[RunResults]) -> list[Section]:
    load_sections()
    made = [section for make in run_sections.functions for section in make(results)]
    return [*what_matters(shown, results), *made]


def render(results: list[RunResults]) -> str:
    """The page of some runs: what the heads of each model do, then what experiments say."""
    payload, shown = Payload(), telling_views(results)
    experiments = _sections(shown, results)
    parts = [_view_part(number, view, results, payload) for number, view in enumerate(shown)]
    leading = [one.finding for one in experiments if one.leads and len(results) == 1]
    for view in payload.views if leading else []:
        view["headline"] = leading[0]
    return page(
        "report.html",
        payload,
        title=payload.views[0]["headline"] if shown else experiments[0].title,
        experiments=[(payload.add_charts(one.charts), one) for one in experiments],
        sections=parts,
        next_steps=what_next(results),
    )


def telling_views(results: list[RunResults]) -> list[CorpusView]:
    """The views of some runs, those that tell most first."""
    return sorted(views(results), key=_most_telling)


def _most_telling(view: CorpusView) -> tuple[bool, bool, bool]:
    """Views in which heads follow language first, then those with other roles; random ones last."""
    kinds = {role.rule.kind for role in view.roles}
    language = any(kind.about_language for kind in kinds)
    return view.weights == RANDOM, not language, not kinds - {RoleKind.SHAPE}


def _view_part(number: int, view: CorpusView, results: list[RunResults], payload: Payload) -> Json:
    """What the template needs of a view; the script's part goes to the payload."""
    payload.add_view(number, view, results, head_cards(view, results))
    return {
        "number": number,
        "view": view,
        "analyses": list(_analysis_parts(view, payload)),
        "best": best_table(view),
        "summary": model_summary(view, results),
    }


def _analysis_parts(view: CorpusView, payload: Payload) -> Iterator[Json]:
    """What the template needs of each analysis."""
    for analysis, section, charts in view.charts():
        finding = section.finding if section is not None else ""
        yield {
            "name": analysis.analysis,
            "about": analysis.about,
            "details": analysis.details,
            "finding": finding or analysis_finding(view, analysis.analysis),
            "section": section,
            "charts": charts,
            "first": payload.add_charts(charts),
        }


def heads_payload(results: list[RunResults]) -> Payload:
    """What a widget shows of some runs: views, maps and examples, no charts."""
    payload = Payload()
    for number, view in enumerate(telling_views(results)):
        payload.add_view(number, view, results, head_cards(view, results))
    return payload


def look_page(payload: Payload) -> str:
    """The page of one text: every head's map, no statistics."""
    return page("look.html", payload, title=payload.views[0]["title"])


def page(template: str, payload: Payload, **values: Any) -> str:
    """Fill a template; the data go to the script in a form that cannot end its element."""
    script = asset("report.js")
    return (
        environment()
        .get_template(template)
        .render(
            policy=policy(script),
            style=asset("report.css"),
            script=script,
            data=payload.packed(),
            views=payload.views,
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


def policy(script: str) -> str:
    """A content security policy under which only this script runs and nothing is fetched."""
    sha = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{sha}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:"
    )


def asset(name: str) -> str:
    """A script or style of the report."""
    return files("headscope.report").joinpath("static", name).read_text(encoding="utf-8")
