"""A run in a few lines: the headline, the best head of each kind, what was found and left out."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.report.analysis_findings import view_headline
from headscope.report.findings import strongest
from headscope.report.page import sections_of
from headscope.report.views import RANDOM, CorpusView, views
from headscope.runs import RunResults

FEW = 3
"""Sections of which a summary says more than the finding."""


def trained_views(results: list[RunResults]) -> list[CorpusView]:
    """The views of some runs, without those of random weights."""
    return [view for view in views(results) if view.weights != RANDOM]


def summary(results: list[RunResults]) -> Iterator[str]:
    """The most telling lines first; indented ones belong to the line above them."""
    shown = trained_views(results)
    for view in shown[:1]:
        yield from _view_lines(view)
    sections = sections_of(results)
    for section in sections:
        said = [text for text in (section.finding, *section.text[:1]) if text]
        yield f"{section.title}: {said[0] if said else ''}".rstrip(": ")
        if len(sections) <= FEW:
            yield from (f"  {text}" for text in said[1:])
    for view in shown[1:]:
        yield from _view_lines(view)
    for view in shown:
        if view.left_out:
            yield f"left out on {view.corpus}: {', '.join(view.left_out)} (why: --verbose)"


def _view_lines(view: CorpusView) -> Iterator[str]:
    """A view's headline, and the best head of each kind."""
    found = strongest(view)
    if view.roles or view.lines:
        yield f"{view_headline(view)} ({view.corpus})."
    yield from (f"  {finding.sentence}" for finding in found)
    if not found:  # an experiment's numbers per head, which earn no roles
        for line in view.lines[:3]:
            what, head, value, interval, _ = line.cells
            yield f"  {what}: {head}, {value} {interval}"
