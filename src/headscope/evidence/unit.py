"""Units: how the values of a statistic and their axes are formatted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

TOO_FEW = "(too few documents)"
"""Stands for an interval if there are too few documents for one."""


@dataclass(frozen=True)
class Unit:
    """A unit, and how its values are formatted in sentences, tables and charts.

    Attributes:
        name: its name in `run.json`.
        axis: title of an axis or legend.
        format: Python format of a value.
        chart_format: d3 format of a value in a tooltip.
        axis_format: d3 format of axis labels.
        percent: values are multiplied by 100 and written as per cent or percentage points.
        signed: values may be negative; colour scales are centred at 0.
        bounded: values lie between 0 and 1; so do intervals, and all charts share one colour
            scale.

    >>> Unit.SHARE.number(0.9432), Unit.POINTS.number(-0.05), Unit.NATS.number(None)
    ('94.3%', '-5.0 pt', '-')
    >>> Unit("tokens", "tokens", format=".1f").number(3.14159)
    '3.1'
    """

    name: str
    axis: str
    format: str = ".2f"
    chart_format: str = ".2f"
    axis_format: str = ".2~f"
    percent: bool = False
    signed: bool = False
    bounded: bool = False

    SHARE: ClassVar[Unit]
    POINTS: ClassVar[Unit]
    NATS: ClassVar[Unit]
    NATS_GAINED: ClassVar[Unit]
    PERPLEXITY: ClassVar[Unit]
    PERPLEXITY_GAINED: ClassVar[Unit]
    TIMES: ClassVar[Unit]
    GRADIENT: ClassVar[Unit]
    COSINE: ClassVar[Unit]

    def number(self, value: float | None) -> str:
        """A value as text; `-` for None."""
        if value is None:
            return "-"
        return self._digits(value) + (("%", " pt")[self.signed] if self.percent else "")

    def interval(self, low: float | None, high: float | None) -> str:
        """An interval as text, or a note that there are too few documents for one.

        >>> Unit.SHARE.interval(0.931, 0.954), Unit.SHARE.interval(None, None)
        ('[93.1, 95.4]', '(too few documents)')
        """
        if low is None or high is None:
            return TOO_FEW
        return f"[{self._digits(low)}, {self._digits(high)}]"

    def _digits(self, value: float) -> str:
        if self.percent:
            return f"{100 * value:{self.format}}" if self.signed else percent(value)
        return format(value, self.format)

    def describe(self) -> dict[str, Any]:
        """What `run.json` records, so that a report needs no code of the analysis."""
        return asdict(self)


def percent(share: float) -> str:
    """A share in per cent; a share below 1 is never rounded up to 100.

    >>> percent(0.9432), percent(0.99973), percent(0.99995), percent(1 - 1e-9), percent(-1e-5)
    ('94.3', '99.97', '>99.99', '100.0', '0.0')
    """
    if 0.9995 <= share < 0.9999:
        return f"{100 * share:.2f}"
    all_but_rounding = 1 - 1e-6
    return ">99.99" if 0.9999 <= share < all_but_rounding else f"{100 * share:z.1f}"


Unit.SHARE = Unit("share", "share", ".1f", ".1%", "%", percent=True, bounded=True)
Unit.POINTS = Unit("points", "points", "+.1f", "+.1%", "", percent=True, signed=True)
Unit.NATS = Unit("nats", "nats")
Unit.NATS_GAINED = Unit("nats gained", "nats", "+.3f", "+.3f", "+.3~f", signed=True)
Unit.PERPLEXITY = Unit("perplexity", "perplexity", ".1f", ".1f", "~g")
Unit.PERPLEXITY_GAINED = Unit("perplexity gained", "perplexity", "+.1f", "+.1f", "+~g", signed=True)
Unit.TIMES = Unit("times", "times")
Unit.GRADIENT = Unit("gradient", "gradient", ".3g", ".3~g", ".3~g")
Unit.COSINE = Unit("cosine", "cosine", ".3f", ".3f")

UNITS = {
    unit.name: unit
    for unit in (
        Unit.SHARE,
        Unit.POINTS,
        Unit.NATS,
        Unit.NATS_GAINED,
        Unit.PERPLEXITY,
        Unit.PERPLEXITY_GAINED,
        Unit.TIMES,
        Unit.GRADIENT,
        Unit.COSINE,
    )
}
"""The units of the package by name; a run of format 7 has no others."""
