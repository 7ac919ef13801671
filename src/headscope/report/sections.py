"""A panel: an experiment as a section of the report."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope.report.charts import Chart

SHOWN = 10
"""Heads at either end of a table."""


@dataclass(frozen=True)
class Panel:
    """A section: what it says, its charts, its table."""

    title: str
    text: list[str]
    charts: list[Chart] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
