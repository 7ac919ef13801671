"""Small pictures that the page draws by itself: intervals in tables, strips and curves on cards."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headscope.evidence import HeadRow


@dataclass(frozen=True)
class Interval:
    """A number with its interval and its baseline.

    Attributes:
        sure: whether every test was passed after correction: the dot is filled.
        domain: both ends of the axis, the same for all rows of a table.
    """

    value: float
    low: float | None
    high: float | None
    baseline: float | None = None
    sure: bool = True
    domain: tuple[float, float] = (0.0, 1.0)

    @property
    def numbers(self) -> list[float | bool | None]:
        """As the script reads it: value, low, high, baseline, sure, both ends of the axis."""
        ends = (self.value, self.low, self.high, self.baseline)
        rounded = [None if end is None else round(end, 5) for end in ends]
        return [*rounded, self.sure, *self.domain]

    @property
    def json(self) -> str:
        """The same as an attribute of an element."""
        return json.dumps(self.numbers)


def interval_of(row: HeadRow) -> Interval:
    """A number of a head; sure if its test is passed and its interval leaves its baseline out."""
    low, baseline, high = row.low, row.baseline, row.high
    apart = low is None or baseline is None or high is None or not low <= baseline <= high
    return Interval(row.value, row.low, row.high, row.baseline, sure=row.sure and apart)


def with_common_axis(intervals: Sequence[Interval]) -> list[Interval]:
    """The same intervals on one axis that holds all of them.

    >>> [one.domain for one in with_common_axis([Interval(1, 0, 2), Interval(-1, -3, 0)])]
    [(-3, 2), (-3, 2)]
    """
    ends = [
        end
        for one in intervals
        for end in (one.value, one.low, one.high, one.baseline)
        if end is not None
    ]
    domain = (min(ends, default=0.0), max(ends, default=1.0))
    return [replace(one, domain=domain) for one in intervals]


@dataclass(frozen=True)
class Strip:
    """Many numbers with intervals in little room, largest first, around a line.

    Attributes:
        line: where the line is; says: what it means.
        number: how values are written at both ends of the axis.
    """

    rows: Sequence[Interval]
    says: str
    number: Callable[[float], str]
    line: float = 0.0

    @property
    def json(self) -> str:
        """As the script reads it."""
        rows = with_common_axis([*self.rows, Interval(self.line, None, None)])[:-1]
        low, high = rows[0].domain
        ordered = sorted(rows, key=lambda row: -row.value)
        return json.dumps(
            {
                "kind": "strip",
                "rows": [row.numbers for row in ordered],
                "line": self.line,
                "says": self.says,
                "ends": [self.number(low), self.number(high)],
            }
        )


@dataclass(frozen=True)
class Curve:
    """A number as something shrinks, with its interval.

    Attributes:
        points: across, value, low, high; the first is where the curve begins.
        level: a line to compare with; mark: where across a choice was made.
        across: what the axis counts.
    """

    points: Sequence[tuple[float, float, float, float]]
    level: float
    mark: float
    across: str
    number: Callable[[float], str]

    @property
    def json(self) -> str:
        """As the script reads it."""
        marked = next((value for place, value, *_ in self.points if place == self.mark), None)
        return json.dumps(
            {
                "kind": "curve",
                "points": [[round(end, 5) for end in point] for point in self.points],
                "level": round(self.level, 5),
                "mark": self.mark,
                "across": self.across,
                "says": [self.number(self.level), "" if marked is None else self.number(marked)],
            }
        )


@dataclass(frozen=True)
class Shares:
    """Parts of a whole as one bar a row.

    Attributes:
        parts: names; inks: their colours, as in the charts of the section.
        rows: the name of each row, and its shares in the order of the parts.
    """

    parts: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float]]]
    inks: Sequence[str]

    @property
    def json(self) -> str:
        """As the script reads it."""
        rows = [[name, [round(share, 4) for share in shares]] for name, shares in self.rows]
        return json.dumps(
            {"kind": "shares", "parts": list(self.parts), "inks": list(self.inks), "rows": rows}
        )


Glance = Strip | Curve | Shares
