"""Charts of one number, or of one head, that a notebook shows and its user can change (Altair)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from headscope.evidence import HeadRow, Unit
from headscope.report.charts import head_datum
from headscope.report.drawings import Datum, heat_map
from headscope.report.small_plots import Interval, interval_of

INK, FAINT = "#1c49b4", "#8a929c"
SHOWN = 12
"""Heads that a chart of intervals shows, the highest first."""

Drawing = alt.LayerChart | alt.FacetChart | alt.HConcatChart


def plot_number(rows: Sequence[HeadRow], unit: Unit, title: str) -> Drawing:
    """A number of every head as a map, beside the highest of them with intervals and baselines."""
    data = [head_datum(row) for row in rows]
    board: Any = heat_map(data, unit).properties(data=alt.InlineData(values=data))
    highest = sorted(rows, key=lambda row: -row.value)[:SHOWN]
    beside = interval_chart([(row.name, interval_of(row)) for row in highest], unit)
    chart: Any = alt.hconcat(board, beside).properties(title=title)
    drawing: Drawing = chart
    return drawing


def interval_chart(lines: Sequence[tuple[str, Interval]], unit: Unit) -> Drawing:
    """A line a number: dot the value, line its 95% interval, tick its baseline; open: not sure."""
    rows: list[Datum] = [
        {
            "name": name,
            "value": one.value,
            "low": one.value if one.low is None else one.low,
            "high": one.value if one.high is None else one.high,
            "baseline": one.baseline,
            "sure": "told from its baseline" if one.sure else "not told",
        }
        for name, one in lines
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=320))
    )
    axis = alt.Axis(format=unit.axis_format) if unit.axis_format else alt.Axis()
    x = alt.X("value:Q", title=unit.axis, axis=axis, scale=alt.Scale(zero=unit.bounded))
    fill = alt.Scale(domain=["told from its baseline", "not told"], range=[INK, "#ffffff"])
    chart: Any = alt.layer(
        base.mark_rule(color=FAINT, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(color="#1b1f24", thickness=2, size=13).encode(x="baseline:Q"),
        base.mark_point(filled=False, stroke=INK, size=55).encode(
            x=x,
            fill=alt.Fill("sure:N", scale=fill, legend=None),
            tooltip=["name:N", "value:Q", "low:Q", "high:Q", "baseline:Q", "sure:N"],
        ),
    ).properties(width=300, height=alt.Step(20))
    drawing: Drawing = chart
    return drawing
