"""What a scan found: prints well, gives frames and CSV, makes the report."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from headscope._util.atomic import write
from headscope._util.naming import head_name
from headscope.analyses._linking import section as tables
from headscope.errors import HeadscopeError
from headscope.report import numbers as summary
from headscope.runs import Results, rows_of

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class Best:
    """The best head for something, with its evidence.

    Attributes:
        row: its row of best.parquet.
    """

    row: dict[str, Any]
    unit: str

    @property
    def layer(self) -> int:
        """Counted from 0."""
        return int(self.row["layer"])

    @property
    def head(self) -> int:
        """Counted from 0."""
        return int(self.row["head"])

    def __repr__(self) -> str:
        head = head_name(self.layer, self.head)
        value = summary.number(self.row["value"], self.unit)
        baseline = summary.number(self.row["baseline"], self.unit)
        return f"{head}  {value} {summary.interval(self.row, self.unit)}  baseline {baseline}"


class Found(Results):
    """The results of a scan, from memory or from a run folder.

    >>> from headscope import read, scan
    >>> found = scan("minilm", read("tour", limit=24), only=["relative_position"])
    >>> found.best("relative_position", +1).layer
    1
    """

    @classmethod
    def read(cls, folder: Path | str) -> Found:
        """Read a finished run folder."""
        return cls(**vars(Results.read(folder)))

    @property
    def corpora(self) -> list[str]:
        """The names of the corpora."""
        return list(dict.fromkeys(one["corpus"] for one in self.record["corpora"]))

    def best(
        self,
        analysis: str,
        group: str | int | None = None,
        *,
        statistic: str | None = None,
        direction: str | None = None,
        corpus: str | None = None,
    ) -> Best:
        """The head with the largest value, chosen and scored on different halves of the data.

        Args:
            group: an offset (-1), a role ("separator") or a relation ("det"), where the analysis
                has groups.
            direction: of attention, where the analysis has several; None: for relations the
                better of row and column, as Clark's table 1.
        """
        if isinstance(group, int):
            group = f"{group:+d}" if group else "0"
        wanted: dict[str, str | None] = {"weights": "trained", "analysis": analysis}
        wanted |= {
            "corpus": corpus or self.corpora[0],
            "statistic": statistic,
            "group": group,
            "direction": direction,
        }
        asked = {column: value for column, value in wanted.items() if value is not None}
        rows = rows_of(self.chosen, **asked)
        if not rows:
            raise HeadscopeError(f"no such number in this run: {asked}")
        if statistic is None and any(row["statistic"] == "accuracy" for row in rows):
            rows = [row for row in rows if row["statistic"] == "accuracy"]
        if direction is None and len({row["direction"] for row in rows}) > 1:
            both = [row for row in rows if row["direction"] in ("row", "column")]
            if not both:
                ways = ", ".join(sorted({row["direction"] for row in rows}))
                raise HeadscopeError(f"say which direction of {analysis} you mean: {ways}")
            rows = sorted(both, key=lambda row: -row["value"])
        if len({(row["statistic"], row["group"]) for row in rows}) > 1:
            there = sorted({f"{row['statistic']} {row['group'] or ''}".strip() for row in rows})
            raise HeadscopeError(f"say which of {analysis} you mean: {', '.join(there)}")
        unit = next(
            one["unit"]
            for kind, one in summary.statistics(self.record)
            if kind["analysis"] == analysis and one["statistic"] == rows[0]["statistic"]
        )
        return Best(rows[0], unit)

    def pandas(self) -> pandas.DataFrame:
        """All numbers as a pandas frame: one row a number."""
        frame: pandas.DataFrame = self.heads.to_pandas()
        return frame

    def polars(self) -> polars.DataFrame:
        """All numbers as a polars frame: one row a number."""
        import polars

        frame = polars.from_arrow(self.heads)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def csv(self, path: Path | str) -> Path:
        """Write all numbers as CSV: one row a number."""
        path = Path(path)
        write(path, lambda stream: pa.csv.write_csv(self.heads, stream))
        return path

    def report(self, path: Path | str) -> Path:
        """Write the report: one HTML file that needs no network."""
        from headscope.report.page import write_report

        return write_report([self], Path(path))

    def figures(self, folder: Path | str) -> list[Path]:
        """Write every chart of the report as PNG and SVG."""
        from headscope.report.figures import write_figures

        return write_figures([self], Path(folder))

    def relations(
        self, corpus: str | None = None, weights: str = "trained", analysis: str = "dependencies"
    ) -> list[tables.Relation]:
        """Every relation with its best heads and its best fixed offset: Clark's table 1."""
        return tables.relations(self, corpus or self.corpora[0], weights, analysis)

    def antecedents(
        self, corpus: str | None = None, weights: str = "trained"
    ) -> tables.Antecedents | None:
        """Who finds antecedents how often: Clark's table 2; None without mention chains."""
        return tables.antecedents(self, corpus or self.corpora[0], weights)

    def across(self, weights: str = "trained") -> tables.Across | None:
        """Relations by corpus, and the heads that keep their role; None for a single treebank."""
        return tables.across(self, weights)

    def effects(self, unit: str | None = None, metric: str | None = None) -> list[dict[str, Any]]:
        """What a task's metric does when something is off, the largest loss first.

        Args:
            unit: `head`, `layer` or `set`; None: all.
            metric: one of the task's; None: its first.
        """
        wanted = {"unit": unit, "metric": metric or self.record["intact"][0]["metric"]}
        rows = rows_of(self.ablation, **{key: one for key, one in wanted.items() if one})
        better = next(one["better"] for one in self.record["intact"]
                      if one["metric"] == wanted["metric"])  # fmt: skip
        return sorted(rows, key=lambda row: row["delta"] * better)

    def change(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """How alike the maps of each head are before and after, the most changed head first."""
        rows = rows_of(self.heads, analysis="change", corpus=corpus or self.corpora[0])
        return sorted((row for row in rows if row["head"] is not None), key=lambda r: r["value"])

    def lines(self) -> list[tuple[str, list[summary.Line]]]:
        """The most striking heads, by corpus."""
        return [(corpus, summary.striking(self, corpus)) for corpus in self.corpora]

    def __repr__(self) -> str:
        text = []
        for corpus, lines in self.lines():
            rows = [summary.COLUMNS, *(line.cells for line in lines)]
            widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
            text.append(f"{self.record['study']['model']['name']} on {corpus}")
            text += [
                "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows
            ]
        return "\n".join(line.rstrip() for line in text)

    def _repr_html_(self) -> str:
        parts = []
        for corpus, lines in self.lines():
            rows = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line.cells) + "</tr>"
                for line in lines
            )
            head = "".join(f"<th>{html.escape(column)}</th>" for column in summary.COLUMNS)
            parts.append(f"<h4>{html.escape(corpus)}</h4><table><tr>{head}</tr>{rows}</table>")
        return "".join(parts)
