"""The page of word alignment: the best heads beside what places alone would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headscope.evidence import BEST, HEADS, BestHead, HeadRow, Unit
from headscope.report.charts import Chart, head_datum, head_map
from headscope.report.examples import examples_of
from headscope.report.sections import SHOWN, Cell, Section, analysis_section
from headscope.report.small_plots import Interval
from headscope.report.views import CorpusView

WAYS = (("output", "attention"), ("output", "norm"), ("input", "attention"), ("input", "norm"))
"""Ways to draw links from a head: which query stands for a word, and what is compared."""
number = Unit.SHARE.number


@analysis_section("alignment")
def alignment(view: CorpusView) -> Section | None:
    """The alignment error rate of heads, with their accuracies, next to the diagonal."""
    errors = _rows(view, "aer")
    if not errors:
        return None
    right = {_key(row): row for row in _rows(view, "accuracy")}
    ranked = sorted(errors, key=lambda row: row.value)[: 2 * SHOWN]
    lines: list[tuple[Cell | str, ...]] = [
        (
            Cell(row.name, head=row.name),
            f"{row.direction}, by {row.group}",
            Cell(number(row.value), plot=_plot(row), examples=examples_of(view, row)),
            row.interval(Unit.SHARE),
            Cell(number(right[_key(row)].value), examples=examples_of(view, right[_key(row)])),
            right[_key(row)].interval(Unit.SHARE),
        )
        for row in ranked
    ]
    lines += _rule_lines(view)
    columns = ("head", "links by", "AER", "95% interval", "accuracy", "95% interval ")
    charts, text = list(_charts(errors)), list(_text(view))
    return Section("Alignment", text, charts, columns, lines, finding=_finding(view))


def _finding(view: CorpusView) -> str:
    """The head with the least errors, and whether it beats places alone."""
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "alignment"}
    best = view.results.rows(BEST, statistic="aer", **place)
    if not best:
        return ""
    row = min(best, key=lambda each: each.value)
    than = "not surely fewer"
    if row.sure and row.baseline is not None and row.value < row.baseline:
        than = "fewer"
    return (
        f"{row.name} aligns words with {number(row.value)} errors, {than} than places alone "
        f"({number(row.baseline)})"
    )


def _plot(row: HeadRow) -> Interval:
    better = row.sure and row.baseline is not None and row.value < row.baseline
    return Interval(row.value, row.low, row.high, row.baseline, sure=better)


def _rows(view: CorpusView, statistic: str) -> list[HeadRow]:
    rows = (row for row in view.rows if row.analysis == "alignment" and row.statistic == statistic)
    return [row for row in rows if row.head is not None]


def _key(row: HeadRow) -> tuple[str | int | None, ...]:
    return row.direction, row.group, *row.place


def _text(view: CorpusView) -> Iterator[str]:
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "alignment"}
    best = view.results.rows(BEST, statistic="aer", **place)
    for direction, by in WAYS:
        for row in best:
            if (row.direction, row.group) == (direction, by):
                yield _sentence(row, by)
    yield (
        "A head's numbers in the table are over all texts; those of the best heads above were "
        "chosen on one half of the documents and scored on the other, both ways round. Colours "
        "are error rates: dark is much, so that pale heads align."
    )


def _sentence(row: BestHead, by: str) -> str:
    """The best head of a way to draw links, and whether it beats places alone."""
    reads = "says a word" if row.direction == "output" else "reads a word"
    what = "attention" if by == "attention" else "attention times the norm of what is looked at"
    than = "not clearly other than"
    if row.sure and row.baseline is not None:
        than = "better than" if row.value < row.baseline else "worse than"
    return (
        f"By the query that {reads}, and by {what}, the best head is {row.name}: AER "
        f"{number(row.value)} {row.interval(Unit.SHARE)}, {than} the best alignment by places "
        f"alone ({number(row.baseline)})."
    )


def _charts(errors: list[HeadRow]) -> Iterator[Chart]:
    for direction, by in WAYS:
        chosen = [row for row in errors if (row.direction, row.group) == (direction, by)]
        rows = [head_datum(replace(row, baseline=None)) for row in chosen]  # ink for every error
        if rows:
            title = f"alignment error rate, {direction}, by {by}"
            yield head_map(f"alignment-{direction}-{by}", title, "", rows, Unit.SHARE)


def _rule_lines(view: CorpusView) -> Iterator[tuple[Cell | str, ...]]:
    """The diagonal, and the best fixed offset."""
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "alignment"}
    errors = view.results.rows(HEADS, statistic="rule_aer", **place)
    right = {row.group: row for row in view.results.rows(HEADS, statistic="rule_accuracy", **place)}
    fixed = [row for row in errors if row.group != "diagonal"]
    best = min(fixed, key=lambda row: row.value)
    for row in [row for row in errors if row.group == "diagonal"] + [best]:
        name = "the diagonal" if row.group == "diagonal" else f"the word at {row.group}"
        yield (
            Cell(name, strong=True),
            "place alone",
            number(row.value),
            row.interval(Unit.SHARE),
            number(right[row.group].value),
            right[row.group].interval(Unit.SHARE),
        )
