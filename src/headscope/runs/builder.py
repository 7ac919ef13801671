"""Collects what a run found, statistic by statistic and table by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from headscope.errors import HeadscopeError
from headscope.evidence import (
    BEST,
    HEADS,
    BestHead,
    HeadRow,
    Layout,
    Margins,
    Statistic,
    Table,
    Unit,
    best_rows,
    head_rows,
)
from headscope.runs.record import (
    AnalysisRecord,
    CorpusRecord,
    Record,
    StatisticRecord,
    Study,
    as_json,
)
from headscope.runs.results import RunResults

Row = TypeVar("Row")


@dataclass
class ResultBuilder:
    """Tables and the record of a run while they are being made.

    Attributes:
        layout: of the model, where layers differ in their heads or in their kind.
        corpora: sizes by corpus, weights and attention.
        left_out: by corpus, the analyses that could not be done and why.
        summary: what the experiment itself has to say, a dataclass or JSON.
    """

    layout: Layout | None = None
    corpora: dict[tuple[str, str, str], CorpusRecord] = field(default_factory=dict)
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    seconds: float | None = None
    threads: int | None = None
    _rows: dict[str, list[Any]] = field(default_factory=dict)
    _tables: dict[str, Table[Any]] = field(default_factory=dict)
    _analyses: dict[str, AnalysisRecord] = field(default_factory=dict)
    _units: dict[str, Unit] = field(default_factory=dict)
    _summary: dict[str, Any] = field(default_factory=dict)

    def add_rows(self, table: Table[Row], rows: Iterable[Row] = ()) -> None:
        """Add rows to a table; without rows, the table will be there all the same."""
        self._tables[table.name] = table
        self._rows.setdefault(table.name, []).extend(rows)

    def add_declared(self, tables: Sequence[Table[Any]], rows: Iterable[object]) -> None:
        """Add rows to those of some tables whose rows they are."""
        by_type = {table.row: table for table in tables}
        for table in tables:
            if self._tables.get(table.name, table) != table:
                raise HeadscopeError(f"a run has a table {table.name!r} already; name it otherwise")
        for row in rows:
            if type(row) not in by_type:
                raise HeadscopeError(f"a row is a {type(row).__name__}, for which no table stands")
            self.add_rows(by_type[type(row)], [row])

    def add_statistics(
        self,
        analysis: str,
        about: tuple[str, str],
        statistics: Sequence[Statistic],
        corpus: str,
        weights: str,
        *,
        layout: Layout | None = None,
        margins: Margins | None = None,
    ) -> tuple[list[HeadRow], list[BestHead]]:
        """Add numbers per head; returns them, and the best heads.

        Args:
            about: what the analysis says of itself, in short and in detail.
            layout: of the tallies, where it is not that of the whole model.
            margins: how far from the null hypotheses heads that know nothing are.
        """
        place = (analysis, corpus, weights)
        layout = layout or self.layout
        heads = head_rows(statistics, *place, layout=layout, margins=margins)
        best = best_rows(statistics, *place, layout=layout, margins=margins)
        self.add_rows(HEADS, heads)
        self.add_rows(BEST, best)
        self.describe(analysis, about, statistics)
        return heads, best

    def describe(
        self, analysis: str, about: tuple[str, str], statistics: Sequence[Statistic]
    ) -> None:
        """Record what the numbers of an analysis are; corpora may differ in their groups."""
        record = self._analyses.setdefault(analysis, AnalysisRecord(analysis, *about, []))
        for statistic in statistics:
            self._units[statistic.unit.name] = statistic.unit
            new = StatisticRecord.of(statistic)
            for place, old in enumerate(record.statistics):
                if (old.statistic, old.direction) == (new.statistic, new.direction):
                    groups = dict.fromkeys([*old.groups, *new.groups])
                    record.statistics[place] = replace(old, groups=list(groups))
                    break
            else:
                record.statistics.append(new)

    def summarise(self, summary: object) -> None:
        """Set what the experiment itself has to say: an instance of its summary dataclass."""
        assert is_dataclass(summary)
        assert not isinstance(summary, type)
        self._summary = as_json(summary)

    def results(self, study: Study) -> RunResults:
        """Everything as tables, with the record that describes them."""
        tables: dict[str, pa.Table] = {
            name: table.of(self._rows[name]) for name, table in self._tables.items()
        }
        record = Record(
            study,
            tables=list(tables),
            units=self._units,
            analyses=list(self._analyses.values()),
            corpora=list(self.corpora.values()),
            left_out=self.left_out,
            summary=self._summary,
            seconds=self.seconds,
            threads=self.threads,
        )
        return RunResults(record, tables)
