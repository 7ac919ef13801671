"""Reproductions: a paper's numbers with ours beside them, table by table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from headscope.experiments.reproduce.tables import (
    REPRODUCED,
    ReproducedRow,
    ReproductionSummary,
    Verdict,
    by_table,
    counts_in_words,
    reasons,
)
from headscope.report.drawings import COLOURS
from headscope.report.sections import Cell, Section, run_sections
from headscope.report.small_plots import Interval, Shares, with_common_axis
from headscope.runs import RunResults

NOT_COMPUTED = "not computed"
FATES = {
    Verdict.AGREES: COLOURS[0],
    Verdict.DIFFERS: COLOURS[1],
    Verdict.CANNOT: "#b3b1ab",
    NOT_COMPUTED: "#e2e0da",
}
"""What may become of a printed number, with the colours of the picture."""
COLUMNS = ("number", "of", "published", "ours", "difference", "verdict", "because")


@run_sections(20)
def reproductions(results: list[RunResults]) -> Iterator[Section]:
    """A section for each paper, and in it one for each of its tables."""
    for run in results:
        rows = run.rows(REPRODUCED)
        if rows:
            yield _paper(run, rows)


def _paper(run: RunResults, rows: list[ReproducedRow]) -> Section:
    summary = run.record.summary_as(ReproductionSummary)
    model, printed = run.record.study.model.name, [row for row in rows if not row.drawn]
    drawn = [row for row in rows if row.drawn]
    text = [
        f"{summary.title}. Computed with {model}; the authors used "
        f"{' and '.join(summary.paper_models)}. A number agrees if the published one lies within "
        "our 95% interval, widened by a tolerance that was fixed beforehand. In the pictures the "
        "tick is the published number, the dot is ours.",
        f"Of what the paper prints, {counts_in_words(printed)}.",
        *([f"Of what it draws, {counts_in_words(drawn)}."] if drawn else []),
    ]
    return Section(
        f"{summary.paper} with {model}",
        text,
        below=[
            *(_table(where, some) for where, some in by_table(rows).items()),
            _how(summary),
        ],
        finding=_finding(summary, printed),
        glance=_glance(rows),
        menu=summary.paper,
        leads=True,
    )


def _finding(summary: ReproductionSummary, printed: list[ReproducedRow]) -> str:
    authors, verdicts = summary.title.partition(":")[0], Counter(row.verdict for row in printed)
    agree, compared = verdicts[Verdict.AGREES], verdicts[Verdict.AGREES] + verdicts[Verdict.DIFFERS]
    return f"{authors}: {agree:,} of {compared:,} printed numbers that can be compared agree"


def _glance(rows: list[ReproducedRow]) -> Shares:
    """What became of the numbers of each table."""

    def fate(row: ReproducedRow) -> str:
        return row.verdict if row.computed else NOT_COMPUTED

    tables = []
    for where, some in by_table(rows).items():
        counts = Counter(fate(row) for row in some)
        tables.append((where, [counts[name] / len(some) for name in FATES]))
    return Shares(list(FATES), tables, list(FATES.values()))


def _how(summary: ReproductionSummary) -> Section:
    """On what the numbers were computed, and by which conventions."""
    return Section(
        "How they were computed",
        [
            *(f"Input {name}: {words}." for name, words in summary.inputs.items()),
            f"Tolerances: {'; '.join(summary.tolerances)}.",
            f"As in the paper: {'; '.join(summary.conventions)}.",
            f"Left open by the paper: {'; '.join(summary.open)}.",
        ],
    )


def _table(where: str, rows: list[ReproducedRow]) -> Section:
    """The numbers of a table that were computed again, and why the others were not; points of
    drawings only where they can be compared.
    """
    computed = [row for row in rows if row.computed and row.shown]
    text = [f"{counts_in_words(rows)}.", *(f"{words}." for words in reasons(rows))]
    plots = _plots(computed)
    cells = [_cells(row, plot) for row, plot in zip(computed, plots, strict=True)]
    return Section(where, text, columns=COLUMNS if cells else (), rows=cells)


def _plots(rows: list[ReproducedRow]) -> list[Interval | None]:
    """Ours with its interval around the published number; one axis for each unit of a table."""
    plots: list[Interval | None] = [None] * len(rows)
    for unit in dict.fromkeys(row.unit for row in rows):
        same = [n for n, row in enumerate(rows) if row.unit == unit and row.value is not None]
        shown = [_interval(rows[n]) for n in same if rows[n].printed is not None]
        there = [n for n in same if rows[n].printed is not None]
        for n, plot in zip(there, with_common_axis(shown), strict=True):
            plots[n] = replace(plot, sure=rows[n].verdict == Verdict.AGREES)
    return plots


def _interval(row: ReproducedRow) -> Interval:
    assert row.value is not None
    return Interval(row.value, row.low, row.high, row.printed)


def _cells(row: ReproducedRow, plot: Interval | None) -> tuple[Cell | str, ...]:
    agrees = row.verdict == Verdict.AGREES
    return (
        row.row,
        f"{row.column} ({row.unit})" if row.unit else row.column,
        Cell(row.published, row.source),
        Cell(row.ours or "", row.interval, strong=agrees, plot=plot),
        row.moved,
        row.verdict,
        row.because,
    )
