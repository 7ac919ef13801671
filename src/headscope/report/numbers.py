"""The most striking heads of a run, in words; for the terminal, the notebook and the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headscope._util.naming import head_name
from headscope.runs import Results, rows_of

Row = dict[str, Any]
SURE = 0.05
"""A corrected p-value below this counts."""
STYLES = {"nats gained": "+.3f", "cosine": ".3f", "gradient": ".3g"}
"""How numbers of a unit are written, where that is not with two decimals."""


def number(value: float | None, unit: str) -> str:
    """A value as a reader wants it: shares as per cent, entropies in nats.

    >>> number(0.9432, "share"), number(2.5, "nats"), number(None, "share")
    ('94.3%', '2.50', '-')
    """
    if value is None:
        return "-"
    if unit == "share":
        return f"{percent(value)}%"
    if unit == "points":
        return f"{100 * value:+.1f} pt"
    return format(value, STYLES.get(unit, ".2f"))


def percent(share: float) -> str:
    """A share in per cent; one that is not all is never rounded up to all.

    >>> percent(0.9432), percent(0.99973), percent(0.99995), percent(1 - 1e-9), percent(-1e-5)
    ('94.3', '99.97', '>99.99', '100.0', '0.0')
    """
    if 0.9995 <= share < 0.9999:
        return f"{100 * share:.2f}"
    all_but_rounding = 1 - 1e-6
    return ">99.99" if 0.9999 <= share < all_but_rounding else f"{100 * share:z.1f}"


def interval(row: Row, unit: str) -> str:
    """The interval of a row, or that there are too few documents for one.

    >>> interval({"low": 0.931, "high": 0.954}, "share")
    '[93.1, 95.4]'
    """
    if row["low"] is None:
        return "(too few documents)"
    low, high = row["low"], row["high"]
    if unit == "share":
        return f"[{percent(low)}, {percent(high)}]"
    if unit == "points":
        return f"[{100 * low:+.1f}, {100 * high:+.1f}]"
    style = STYLES.get(unit, ".2f")
    return f"[{low:{style}}, {high:{style}}]"


@dataclass(frozen=True)
class Line:
    """One line of the summary: what for, which head, and its row of best.parquet."""

    analysis: str
    text: str
    unit: str
    row: Row

    @property
    def cells(self) -> tuple[str, ...]:
        """What the head does, the head, its value, interval, baseline."""
        return (
            self.text,
            head_name(self.row["layer"], self.row["head"]),
            number(self.row["value"], self.unit),
            interval(self.row, self.unit),
            number(self.row["baseline"], self.unit),
        )


COLUMNS = ("best head for", "head", "value", "95% interval", "baseline")


def statistics(record: dict[str, Any]) -> Iterator[tuple[Row, Row]]:
    """Every analysis with every statistic that it gave, as the run's record describes them."""
    for analysis in record["analyses"]:
        for statistic in analysis["statistics"]:
            yield analysis, statistic


def striking(results: Results, corpus: str, weights: str = "trained") -> list[Line]:
    """The best head for everything that an analysis thinks worth a line, cross-fitted."""
    rows = {
        (row["analysis"], row["statistic"], row["direction"], row["group"] or ""): row
        for row in rows_of(results.chosen, corpus=corpus, weights=weights)
    }
    lines = []
    for analysis, statistic in statistics(results.record):
        for group, text in statistic["headlines"].items():
            key = (analysis["analysis"], statistic["statistic"], statistic["direction"], group)
            if key in rows:
                lines.append(Line(analysis["analysis"], text, statistic["unit"], rows[key]))
    return lines


def sure(row: Row) -> bool:
    """Whether a corrected test says that the value is not what was to be expected."""
    return row["q"] is not None and row["q"] < SURE
