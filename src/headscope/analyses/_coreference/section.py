"""The page of coreference: who finds antecedents how often (Clark's table 2)."""

from __future__ import annotations

from headscope.evidence import BEST, HEADS, BestHead, HeadRow, Unit
from headscope.report.examples import examples_of
from headscope.report.sections import Cell, Section, analysis_section
from headscope.report.small_plots import interval_of
from headscope.report.views import CorpusView

SOURCES = {
    "nearest": "nearest mention",
    "head_match": "same head word, else nearest",
    "sieve": "rule sieve",
    "chance": "chance",
}
"""Statistics of what needs no head, and what they are called in the table."""


@analysis_section("coreference")
def antecedents(view: CorpusView) -> Section | None:
    """The baselines and the best heads of a corpus; None where there are no mention chains."""
    results = view.results
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "coreference"}
    best = results.rows(BEST, statistic="accuracy", **place)
    windows = view.corpus_record.windows
    if not best or windows is None:
        return None
    groups = [row.group for row in best]

    def line(title: str, rows: list[HeadRow]) -> tuple[Cell | str, ...]:
        by_group = {row.group: row for row in rows}
        return (title, *(_cell(view, by_group[group]) for group in groups))

    lines = [
        line(title, results.rows(HEADS, statistic=name, **place)) for name, title in SOURCES.items()
    ]
    lines.append(("best head for each", *(_cell(view, row, named=True) for row in best)))
    name = best[0].name
    same = {"layer": best[0].layer, "head": best[0].head}
    rows = results.rows(HEADS, statistic="accuracy", **place, **same)
    lines.append(line(f"{name} on all data", rows))
    return Section(
        "Antecedents",
        [
            f"{windows.examples:,} windows of at most {windows.limit} pieces. Baselines need no "
            "head; the best head for each type is chosen on one half of the documents and scored "
            "on the other."
        ],
        columns=(
            "who finds the antecedent",
            *(f"{row.group} ({row.n:,})" for row in best),
        ),
        rows=lines,
        finding=_finding(view, best[0]),
        count=f"{sum(role.analysis == 'coreference' for role in view.roles)}",
    )


def _finding(view: CorpusView, best: BestHead) -> str:
    """The best head beside the best rule that needs no head."""
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "coreference"}
    rules = [
        (row.value, row.high if row.high is not None else 1.0, title)
        for name, title in SOURCES.items()
        for row in view.results.rows(HEADS, statistic=name, group=best.group, **place)
    ]
    value, high, title = max(rules)
    number = Unit.SHARE.number
    verdict = f", not surely more than the best rule ({title}: {number(value)})"
    if best.low is not None and best.low > high:
        verdict = f", more than any rule ({title}: {number(value)})"
    return f"{best.name} finds {number(best.value)} of antecedents{verdict}"


def _cell(view: CorpusView, row: HeadRow, named: bool = False) -> Cell:
    value = Unit.SHARE.number(row.value)
    text = f"{row.name} {value}" if named else value
    examples = examples_of(view, row) if row.head is not None else None
    return Cell(text, row.interval(Unit.SHARE), plot=interval_of(row), examples=examples)
