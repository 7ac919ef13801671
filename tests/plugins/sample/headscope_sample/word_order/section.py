"""The experiment on the page and on head cards."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.plugin import (
    Chart,
    RunResults,
    Section,
    Unit,
    card_lines,
    datum,
    heat_map,
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
                [Chart("word-order", "rise of entropy", "", heat_map(data, RISE), data)],
                ("head", "in order", "shuffled"),
                [
                    (point["name"], f"{row.ordered:.2f}", f"{row.shuffled:.2f}")
                    for point, row in zip(data, rows, strict=True)
                ],
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
