"""The most striking heads of a run, in words; for the terminal, the notebook and the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.evidence import BEST, BestHead, Unit
from headscope.runs import RunResults
from headscope.runs.record import AnalysisRecord, Record, StatisticRecord

COLUMNS = ("best head for", "head", "value", "95% interval", "baseline")


def number_key(analysis: str, statistic: str, direction: str | None, group: str | None) -> str:
    """How the page calls a number of every head.

    >>> number_key("dependencies", "accuracy", "row", "nsubj")
    'dependencies|accuracy|row|nsubj'
    """
    return "|".join((analysis, statistic, direction or "", group or ""))


@dataclass(frozen=True)
class Line:
    """One line of the summary: what for, which head, and its evidence."""

    analysis: str
    text: str
    unit: Unit
    row: BestHead

    @property
    def cells(self) -> tuple[str, ...]:
        """What the head does, the head, its value, interval, baseline."""
        return (
            self.text,
            self.row.name,
            self.unit.number(self.row.value),
            self.row.interval(self.unit),
            self.unit.number(self.row.baseline),
        )


def described_statistics(record: Record) -> Iterator[tuple[AnalysisRecord, StatisticRecord]]:
    """Every analysis with every statistic that it gave, as the run's record describes them."""
    for analysis in record.analyses:
        for statistic in analysis.statistics:
            yield analysis, statistic


def striking(results: RunResults, corpus: str, weights: str = "trained") -> list[Line]:
    """The best head for everything that an analysis thinks worth a line, cross-fitted."""
    rows = {
        (row.analysis, row.statistic, row.direction, row.group or ""): row
        for row in results.rows(BEST, corpus=corpus, weights=weights)
    }
    lines = []
    for analysis, statistic in described_statistics(results.record):
        for group, text in statistic.headlines.items():
            key = (analysis.analysis, statistic.statistic, statistic.direction, group)
            if key in rows:
                unit = results.record.unit(statistic.unit)
                lines.append(Line(analysis.analysis, text, unit, rows[key]))
    return lines
