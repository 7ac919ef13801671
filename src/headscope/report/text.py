"""Results as plain tables: what a terminal and a notebook print."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.report.catalogue import load_sections
from headscope.report.numbers import COLUMNS, striking
from headscope.report.sections import run_sections
from headscope.runs import RunResults

TextTable = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A title, columns and rows."""


def text_tables(results: RunResults) -> Iterator[TextTable]:
    """The most striking heads by corpus, then the table of every section of the run."""
    load_sections()
    name = results.record.study.model.name
    for record in results.record.corpora:
        if record.weights in ("trained", "tuned"):
            part = results.of(record.attention)
            lines = striking(part, record.corpus, record.weights)
            if lines:
                title = f"{name} on {record.corpus}{part.of_attention}"
                yield title, COLUMNS, [line.cells for line in lines]
    for sections in run_sections.functions:
        for section in sections([results]):
            if section.rows:
                rows = [tuple(str(cell) for cell in row) for row in section.cells]
                yield section.title, section.columns, rows
