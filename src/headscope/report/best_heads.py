"""The table of the best head for everything that was measured."""

from __future__ import annotations

from headscope.report.examples import examples_of
from headscope.report.numbers import COLUMNS, Line
from headscope.report.sections import Cell, Section
from headscope.report.small_plots import interval_of
from headscope.report.views import CorpusView


def best_table(view: CorpusView) -> Section:
    """A row a number, the same as the terminal prints, with plots and texts behind the numbers."""
    rows = [_cells(line, view) for line in view.lines]
    return Section("best heads", [], columns=COLUMNS, rows=rows)


def _cells(line: Line, view: CorpusView) -> tuple[Cell | str, ...]:
    text, head, value, interval, baseline = line.cells
    row = line.row
    plot = None
    if line.unit.bounded:
        plot = interval_of(row)
    shown = Cell(value, plot=plot, examples=examples_of(view, row), strong=row.sure)
    return text, Cell(head, head=head), shown, interval, baseline
