"""Results on a terminal: tables and sentences of whatever is registered.

What is printed comes from corpora, labels and file names: it is data, never markup, and control
characters are left out (`Screen` prints nothing in any other way).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headscope._util.printable import printable

if TYPE_CHECKING:
    from headscope.report.sections import Section
    from headscope.report.views import CorpusView
    from headscope.runs import RunResults

LISTED = 12
"""Roles of heads that are listed; the report has all."""
ROWS = 45
"""Rows of a table that are printed; the report has all."""
BROAD = 80
"""Tables with longer cells are left to the report."""
LONG = 18
"""Cells that are longer may be broken into lines where the terminal is narrow."""


class Screen:
    """Prints results on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()

    def line(self, text: str, style: str = "") -> None:
        """Print a sentence."""
        self.console.print(Text(printable(text), style=style))

    def path(self, path: Path) -> None:
        """Print a path on a line of its own, however long it is."""
        self.console.print(Text(printable(str(path))), soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table; without its frame where the terminal is too narrow for it."""
        if not rows:
            return
        cells = [
            [printable(text) for text in column]
            for column in zip(columns, *rows[:ROWS], strict=True)
        ]
        broken = [max(len(text) for text in column[1:]) > LONG for column in cells]
        widths = [
            max(
                len(word)
                for text in column
                for word in (text.split() if breaks else [text]) or [""]
            )
            for column, breaks in zip(cells, broken, strict=True)
        ]
        framed = sum(widths) + 3 * len(columns) + 1 <= self.console.width
        table = Table(title=Text(printable(title), style="table.title"))
        if not framed:  # closer, and lines are broken rather than cut
            table = Table(title=table.title, box=None, pad_edge=False, collapse_padding=True)
        for place, (column, breaks) in enumerate(zip(cells, broken, strict=True)):
            table.add_column(
                Text(column[0]),
                justify="right" if place > 1 and not breaks else "left",
                no_wrap=(framed or place == 0) and not breaks,  # names stay whole
                overflow="fold",
            )
        for row in zip(*(column[1:] for column in cells), strict=True):
            table.add_row(*map(Text, row))
        self.console.print(table)
        if len(rows) > ROWS:
            self.line(f"{ROWS} of {len(rows)} rows; the report has all")

    def section(self, section: Section) -> None:
        """Print what a section of the report says, and its table unless that is too wide."""
        for text in section.text:
            self.line(text)
        rows = [tuple(str(cell) for cell in row) for row in section.cells]
        if all(len(text) <= BROAD for row in rows for text in row):
            self.table(section.title, section.columns, rows)
        for below in section.below:
            self.section(below)

    def summary(self, results: list[RunResults], most: int) -> None:
        """Print the most telling lines of some runs, as many as fit.

        Args:
            most: lines on the terminal.
        """
        from headscope.report.summary import summary

        lines = [printable(text) for text in summary(results)]
        used, shown = 0, 0
        for text in lines:
            wrapped = len(Text(text).wrap(self.console, self.console.width))
            if used + wrapped > most - 1:  # one is kept to say that there is more
                break
            used, shown = used + wrapped, shown + 1
            self.line(text, style="" if text.startswith("  ") else "bold")
        if shown < len(lines):
            self.line(f"{len(lines) - shown} more lines: --verbose, or the report")

    def results(self, results: RunResults) -> None:
        """Print the most striking heads by corpus, then what analyses and experiments show."""
        from headscope.report.page import sections_of
        from headscope.report.summary import trained_views

        for view in trained_views([results]):
            self._view(view)
        for section in sections_of([results]):
            self.section(section)

    def _view(self, view: CorpusView) -> None:
        from headscope.report.numbers import COLUMNS

        self.table(view.title, COLUMNS, [line.cells for line in view.lines])
        for label in view.labels[:LISTED]:
            self.line(f"{label.head} is {label.short}")
        if len(view.labels) > LISTED:
            self.line(f"and {len(view.labels) - LISTED} more (in the report)")
        for analysis in view.analyses:
            section = view.section(analysis.analysis)
            if section is not None:
                self.section(section)
        for name, reason in view.left_out.items():
            self.line(f"left out: {name} ({reason})")

    def heads(
        self, results: RunResults, runs: list[RunResults], *, every: bool = False, most: int = 10
    ) -> None:
        """Print the model in short, and cards of its heads.

        Args:
            runs: of the same model, from which the cards are made.
            every: the cards of all heads, not only of the most specialised.
            most: of these, how many.
        """
        from headscope.report.head_cards import head_cards, striking_cards
        from headscope.report.model_summary import model_summary
        from headscope.report.summary import trained_views

        for view in trained_views([results]):
            summary = model_summary(view, runs)
            if summary is None:
                continue
            self.section(summary)
            cards = head_cards(view, runs)
            for card in cards.values() if every else striking_cards(view, cards)[:most]:
                self.line(card.title, style="bold")
                for text in card.lines:
                    self.line(f"  {text}")


def result_data(results: RunResults, page: Path) -> dict[str, Any]:
    """What `--json` prints of a run."""
    from headscope.report.page import sections_of
    from headscope.report.summary import trained_views

    record = results.record
    return {
        "report": str(page),
        "model": dataclasses.asdict(record.study.model),
        "best": {
            view.title: [
                {"best head for": line.text} | dataclasses.asdict(line.row) for line in view.lines
            ]
            for view in trained_views([results])
        },
        "sections": [
            {
                "title": section.title,
                "text": section.text,
                "columns": section.columns,
                "rows": [[str(cell) for cell in row] for row in section.cells],
            }
            for section in sections_of([results])
        ],
        "left_out": record.left_out,
    } | record.summary


def role_data(results: list[RunResults]) -> list[dict[str, Any]]:
    """What `headscope roles --json` prints: a row for each role of each head."""
    from headscope.report.views import views

    evidence = ("group", "direction", "value", "low", "high", "baseline")
    return [
        {
            "model": view.model.name,
            "corpus": view.corpus,
            "weights": view.weights,
            "head": role.row.name,
            "role": role.rule.name,
            "threshold": role.rule.threshold,
            "source": role.rule.source,
            "q_threshold": role.q,
            "sentence": role.sentence,
        }
        | {column: getattr(role.row, column) for column in evidence}
        for view in views(results)
        for role in view.roles
    ]
