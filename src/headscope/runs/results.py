"""The results of a run: a typed record and the tables that its experiment declared."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from headscope._util.atomic import write
from headscope._util.naming import SELF
from headscope._util.notebook import ShownInNotebooks
from headscope._util.plugins import did_you_mean
from headscope.errors import HeadscopeError, RunError
from headscope.evidence import BEST, HEADS, BestHead, Table
from headscope.runs.head import BestResult, HeadResult, known_name
from headscope.runs.record import COMPLETE, Record, read_record

if TYPE_CHECKING:
    import pandas
    import polars

Row = TypeVar("Row")


def open_run(folder: Path | str) -> RunResults:
    """Open a finished run folder (`headscope.open`)."""
    return RunResults.read(folder)


@dataclass
class RunResults(ShownInNotebooks):
    """What a run found, from memory or from a run folder.

    Attributes:
        record: what was run, and what the numbers are.
        tables: Arrow tables by name.
        attention: the kind of attention whose rows they are, where a model has several.

    >>> from headscope import read, scan
    >>> results = scan("minilm", read("tour", limit=24), only=["relative_position"])
    >>> results.best("relative_position", +1).layer
    1
    """

    record: Record
    tables: dict[str, pa.Table] = field(default_factory=dict)
    attention: str = SELF

    @property
    def attentions(self) -> list[str]:
        """The kinds of attention of its model; `self` for a model of one stack."""
        return list(self.record.study.model.attentions) or [SELF]

    def of(self, attention: str) -> RunResults:
        """The same with the rows of one kind of attention alone."""
        if self.attentions == [SELF]:
            return self
        kept = {
            name: table.filter(pc.equal(table["attention"], attention))
            if "attention" in table.schema.names
            else table
            for name, table in self.tables.items()
        }
        return RunResults(self.record, kept, attention)

    def by_attention(self) -> list[RunResults]:
        """For each kind of attention of its model the rows of that kind."""
        return [self.of(attention) for attention in self.attentions]

    @property
    def of_attention(self) -> str:
        """How a title says which kind of attention the rows are of."""
        return "" if self.attention == SELF else f", {self.attention} attention"

    @classmethod
    def read(cls, folder: Path | str) -> RunResults:
        """Read a finished run folder."""
        folder = Path(folder)
        record = read_record(folder)
        if record.status != COMPLETE:
            how = "run the same command again to finish it"
            raise RunError(f"{folder} holds a run that is not finished; {how}")
        try:
            tables = {name: pq.read_table(folder / f"{name}.parquet") for name in record.tables}
        except (OSError, pa.ArrowException) as error:
            raise RunError(f"{folder} is damaged: {error}") from None
        return cls(record, tables)

    def rows(self, table: Table[Row], **wanted: object) -> list[Row]:
        """The rows of a table in which every column named has the value wanted."""
        return table.rows(self.tables.get(table.name, table.empty()), **wanted)

    def has(self, table: Table[Row]) -> bool:
        """Whether a table is there and has rows."""
        return table.name in self.tables and self.tables[table.name].num_rows > 0

    def table(self, name: str = "heads") -> pa.Table:
        """A table by name, as Arrow has it."""
        if name not in self.tables:
            hint = did_you_mean(name, self.tables)
            there = ", ".join(self.tables) or "none"
            raise HeadscopeError(f"this run has no table {name!r}{hint} (it has {there})")
        return self.tables[name]

    @property
    def corpora(self) -> list[str]:
        """The names of the corpora."""
        return list(dict.fromkeys(corpus.corpus for corpus in self.record.corpora))

    def best(
        self,
        analysis: str,
        group: str | int | None = None,
        *,
        statistic: str | None = None,
        direction: str | None = None,
        attention: str | None = None,
        corpus: str | None = None,
        weights: str = "trained",
    ) -> BestResult:
        """The head with the largest value, chosen and scored on different halves of the data.

        Args:
            group: an offset (-1), a role ("separator") or a relation ("det"), where the analysis
                has groups.
            direction: of attention, where the analysis has several; None: for relations the
                better of row and column, as in Clark's table 1.
            attention: `encoder`, `decoder` or `cross`, in a model with an encoder and a decoder.
        """
        if isinstance(group, int):
            group = f"{group:+d}" if group else "0"
        if not self.corpora:
            raise HeadscopeError("this run has no numbers per head; see its tables")
        given = {
            "weights": weights,
            "analysis": analysis,
            "corpus": corpus or self.corpora[0],
            "statistic": statistic,
            "group": group,
            "direction": direction,
            "attention": attention,
        }
        wanted = {column: value for column, value in given.items() if value is not None}
        rows = self.rows(BEST, **wanted)
        if not rows:
            raise HeadscopeError(f"no such number in this run: {wanted}")
        row = _single(rows, analysis, statistic, direction)
        units = {
            record.statistic: record.unit
            for described in self.record.analyses
            if described.analysis == analysis
            for record in described.statistics
        }
        return BestResult(row, self.record.unit(units[row.statistic]))

    def plot(self, analysis: str, group: str | int | None = None, **which: Any) -> Any:
        """A number of every head as a chart that can be changed (Altair).

        Args:
            analysis, group: as for `best`, which also says what else can be named.
        """
        from headscope.report.plots import plot_number

        best = self.best(analysis, group, **which)
        names = ("corpus", "weights", "analysis", "statistic", "group", "direction", "attention")
        key = {name: getattr(best.row, name) for name in names}
        known = {name: value for name, value in key.items() if value is not None}
        rows = [
            row
            for row in self.rows(HEADS, **known)
            if row.head is not None
            and (row.group, row.direction) == (best.row.group, best.row.direction)
        ]
        words = [analysis, best.row.group, best.row.direction, f"({best.row.corpus})"]
        return plot_number(rows, best.unit, " ".join(word for word in words if word))

    def head(self, name: str, *, corpus: str | None = None, weights: str = "trained") -> HeadResult:
        """One head: what it does, in words and as a chart.

        Args:
            name: `L2.H8`, or `cross L2.H3` in a model with an encoder and a decoder.
        """
        if not self.corpora:
            raise HeadscopeError("this run has no numbers per head; see its tables")
        return HeadResult(self, known_name(self, name), corpus or self.corpora[0], weights)

    def pandas(self, table: str = "heads") -> pandas.DataFrame:
        """A table as a pandas frame; by default all numbers, one row a number."""
        try:
            frame: pandas.DataFrame = self.table(table).to_pandas()
        except ModuleNotFoundError:
            raise _missing_extra("pandas") from None
        return frame

    def polars(self, table: str = "heads") -> polars.DataFrame:
        """A table as a polars frame; by default all numbers, one row a number."""
        try:
            import polars
        except ModuleNotFoundError:
            raise _missing_extra("polars") from None
        frame = polars.from_arrow(self.table(table))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def csv(self, path: Path | str, table: str = "heads") -> Path:
        """Write a table as CSV; by default all numbers, one row a number."""
        path, stored = Path(path), self.table(table)
        write(path, lambda stream: pa.csv.write_csv(stored, stream))
        return path

    def report(self, path: Path | str) -> Path:
        """Write the report: one HTML file that needs no network."""
        from headscope.report.page import write_report

        return write_report([self], Path(path))

    def widget(self) -> Any:
        """The heads of the run as a widget for notebooks (extra `notebook`)."""
        from headscope.report.page import heads_payload
        from headscope.report.widget import widget

        return widget(heads_payload([self]))

    def figures(
        self,
        folder: Path | str,
        names: Sequence[str] = (),
        formats: Sequence[str] = ("png", "svg"),
    ) -> list[Path]:
        """Write the charts of the report.

        Args:
            names: parts of names; only figures with one of them are written.
            formats: of `png`, `svg`, `pdf`.
        """
        from headscope.report.figures import write_figures

        return write_figures([self], Path(folder), names, formats)

    def tables_as_files(self, folder: Path | str) -> list[Path]:
        """Write every table of the report as CSV and LaTeX: the same numbers as on the page."""
        from headscope.report.tables import write_tables

        return write_tables([self], Path(folder))

    def __repr__(self) -> str:
        from headscope.report.text import text_tables

        lines = []
        for title, columns, rows in text_tables(self):
            cells = [columns, *rows]
            widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
            padded = (zip(row, widths, strict=True) for row in cells)
            lines += [title, *("  ".join(c.ljust(w) for c, w in row) for row in padded)]
        return "\n".join(line.rstrip() for line in lines)

    @property
    def _has_widget(self) -> bool:
        return super()._has_widget and bool(self.corpora)  # it shows numbers of heads

    def _repr_html_(self) -> str:
        from headscope.report.text import text_tables

        return "".join(
            f"<h4>{html.escape(title)}</h4><table>{_html_row('th', columns)}"
            + "".join(_html_row("td", row) for row in rows)
            + "</table>"
            for title, columns, rows in text_tables(self)
        )


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _single(
    rows: list[BestHead], analysis: str, statistic: str | None, direction: str | None
) -> BestHead:
    """The one row that was meant; an error that names the others where there are several."""
    if statistic is None and any(row.statistic == "accuracy" for row in rows):
        rows = [row for row in rows if row.statistic == "accuracy"]
    if direction is None and len({row.direction for row in rows}) > 1:
        both = [row for row in rows if row.direction in ("row", "column")]
        if not both:
            directions = ", ".join(sorted({str(row.direction) for row in rows}))
            raise HeadscopeError(f"say which direction of {analysis} you mean: {directions}")
        rows = sorted(both, key=lambda row: -row.value)
    if len({row.attention for row in rows}) > 1:
        kinds = ", ".join(dict.fromkeys(row.attention for row in rows))
        raise HeadscopeError(f"say which attention of {analysis} you mean: {kinds}")
    if len({(row.statistic, row.group) for row in rows}) > 1:
        names = sorted({f"{row.statistic} {row.group or ''}".strip() for row in rows})
        raise HeadscopeError(f"say which of {analysis} you mean: {', '.join(names)}")
    return rows[0]


def _missing_extra(name: str) -> HeadscopeError:
    return HeadscopeError(f"{name} is not installed; pip install 'headscope[frames]'")
