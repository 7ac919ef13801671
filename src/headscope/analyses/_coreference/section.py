"""The page of coreference: who finds antecedents how often (Clark's table 2)."""

from __future__ import annotations

from headscope.evidence import BEST, HEADS, HeadRow, Unit
from headscope.report.sections import Cell, Section, analysis_section
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
        return (title, *(_cell(by_group[group]) for group in groups))

    lines = [
        line(title, results.rows(HEADS, statistic=name, **place)) for name, title in SOURCES.items()
    ]
    lines.append(("best head for each", *(_cell(row, named=True) for row in best)))
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
    )


def _cell(row: HeadRow, named: bool = False) -> Cell:
    value = Unit.SHARE.number(row.value)
    text = f"{row.name} {value}" if named else value
    return Cell(text, row.interval(Unit.SHARE))
