"""The experiment on the page and on head cards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.plugin import (
    HeadNumbers,
    Interval,
    RunResults,
    Section,
    Strip,
    Unit,
    card_lines,
    datum,
    head_map,
    head_numbers,
    run_sections,
)
from headscope.report.views import CorpusView
from headscope_sample.word_order.tables import WORD_ORDER, WordOrderSummary

RISE = Unit.NATS_GAINED


@run_sections(500)
def word_order_section(results: list[RunResults]) -> Iterator[Section]:
    """Where entropy rises when words are shuffled."""
    for run in results:
        if run.has(WORD_ORDER):
            rows = run.rows(WORD_ORDER)
            data = [datum(row.layer, row.head, row.shuffled - row.ordered) for row in rows]
            texts = run.record.summary_as(WordOrderSummary).texts
            yield Section(
                f"Word order: {run.record.study.model.name}",
                [f"How much the entropy of each head rises on {texts} shuffled texts."],
                [head_map("word-order", "rise of entropy", "", data, RISE)],
                ("head", "in order", "shuffled"),
                [
                    (point["name"], f"{row.ordered:.2f}", f"{row.shuffled:.2f}")
                    for point, row in zip(data, rows, strict=True)
                ],
                finding=f"{_most(data)} loses most without the order of words",
                glance=Strip(
                    [Interval(point["value"], None, None) for point in data],
                    "in order",
                    RISE.number,
                ),
                menu="Word order",
            )


def _most(data: list[dict[str, Any]]) -> str:
    return str(max(data, key=lambda point: point["value"])["name"])


@head_numbers(500)
def rises(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """The rise of every head, for the board and the heads' pages."""
    for run in results:
        rows = run.rows(WORD_ORDER)
        if rows:
            yield HeadNumbers(
                "rise without order",
                "How much a head's entropy rises when words are shuffled.",
                "word order",
                RISE,
                {
                    (row.layer, row.head): Interval(row.shuffled - row.ordered, None, None)
                    for row in rows
                },
            )


@card_lines(500)
def word_order_lines(
    view: CorpusView, results: list[RunResults]
) -> Iterator[tuple[tuple[int, int], str]]:
    """How much the entropy of each head rises."""
    for run in results:
        for row in run.rows(WORD_ORDER):
            rise = RISE.number(row.shuffled - row.ordered)
            yield (
                (row.layer, row.head),
                f"with its words shuffled its entropy changes by {rise} nats",
            )
