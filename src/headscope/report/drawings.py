"""The drawings of charts in one grammar (Vega-Lite): they serve PNG, SVG, PDF, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import altair as alt

from headscope.evidence import Unit

Datum: TypeAlias = dict[str, Any]
"""A row of a chart's data, as Vega-Lite reads it: JSON."""
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
"""Okabe and Ito's palette: colour-blind readers can tell its colours apart."""
RAMP = ["#ffffff", "#9ecae1", "#3182bd", "#08306b"]
"""One hue, white to dark: more ink, more attention; also in grey and on paper."""
AROUND = ["#d55e00", "#ffffff", "#08306b"]
"""For differences: white is none."""
POINTS = "format(100 * datum.value, '+.2~r')"

Drawing = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart
HEADS, LAYERS = alt.NamedData(name="heads"), alt.NamedData(name="layers")


def _tooltip(unit: Unit) -> list[alt.Tooltip]:
    style = unit.chart_format
    return [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", title="value", format=style),
        alt.Tooltip("low:Q", title="from", format=style),
        alt.Tooltip("high:Q", title="to", format=style),
        alt.Tooltip("baseline:Q", title="baseline", format=style),
        alt.Tooltip("n:Q", title="observations", format=","),
    ]


def _axis(unit: Unit) -> alt.Axis:
    if unit.percent and unit.signed:
        return alt.Axis(labelExpr=POINTS)
    return alt.Axis(format=unit.axis_format)


def _ink(rows: Sequence[Datum], unit: Unit) -> alt.Color:
    """The colour of a value. Shares have one scale in all charts, so that charts compare; theirs
    and that of differences follow the square root, so that small ones can be seen.
    """
    if unit.signed:  # around 0: blue above, orange below
        reach = max((abs(row["value"]) for row in rows), default=0) or 1.0
        return alt.Color(
            "value:Q",
            scale=alt.Scale(
                range=AROUND, domain=[-reach, 0, reach], type="sqrt", interpolate="rgb"
            ),
            legend=alt.Legend(
                title=unit.axis,
                gradientLength=110,
                values=[-reach, -reach / 4, 0, reach / 4, reach],
                labelExpr=POINTS if unit.percent else "format(datum.value, '+.2~r')",
            ),
        )
    share = unit.bounded
    top = 1.0 if share else max((row["value"] for row in rows), default=1.0)
    return alt.Color(
        "value:Q",
        scale=alt.Scale(
            range=RAMP, domain=[0, top], type="sqrt" if share else "linear", interpolate="rgb"
        ),
        legend=alt.Legend(
            title=unit.axis,
            format="%" if share else ".2~r",
            gradientLength=110,
            values=[0, 0.05, 0.25, 0.5, 1] if share else alt.Undefined,
        ),
    )


def heat_map(rows: Sequence[Datum], unit: Unit) -> Drawing:
    """Layer by head: how dark a cell is says how large the value is."""
    drawing: Drawing = (
        alt.Chart(HEADS)
        .mark_rect(stroke="#ddd", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("layer:O", title="layer"),
            color=_ink(rows, unit),
            tooltip=_tooltip(unit),
        )
        .properties(width=250, height=22 * len({row["layer"] for row in rows}))
    )
    return drawing


def similarity_map(rows: Sequence[Datum]) -> Drawing:
    """Layer by head: the darker, the less alike."""
    lowest = min(row["value"] for row in rows)
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(range=RAMP[::-1], domain=[min(lowest, 0.99), 1], interpolate="rgb"),
        legend=alt.Legend(title="cosine", format=".2f", gradientLength=110),
    )
    return heat_map(rows, Unit.COSINE).encode(color=colour)


def layer_bars(unit: Unit) -> Drawing:
    """A bar a layer, with its interval."""
    x = alt.X("layer:O", title="layer off", axis=alt.Axis(labelAngle=0))
    title = f"gain ({unit.axis})"
    colour = alt.condition("datum.value > 0", alt.value(AROUND[2]), alt.value(AROUND[0]))
    bars = alt.Chart(LAYERS).encode(x=x, tooltip=_tooltip(unit))
    y = alt.Y("value:Q", title=title, axis=_axis(unit))
    whole = bars.mark_bar(size=14, opacity=0.75).encode(y=y, color=colour)
    lines = bars.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    return alt.layer(whole, lines).properties(width=300, height=220)


def layer_parts(names: list[str]) -> Drawing:
    """Bars a layer, one for each part of a whole; parts may be negative."""
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="parts"))
        .mark_bar()
        .encode(
            x=alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("part:N", sort=names),
            y=alt.Y("value:Q", title="share of the score", axis=alt.Axis(format="%")),
            color=alt.Color(
                "part:N",
                sort=names,
                scale=alt.Scale(domain=names, range=COLOURS),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=["layer:O", "part:N", alt.Tooltip("value:Q", format=".1%")],
        )
        .properties(width=300, height=220)
    )
    return drawing


def gain_of(metric: str) -> str:
    """What an axis of effects is called."""
    return f"gain of {metric} when off"


def scatter(field: str, title: str, up: str) -> Drawing:
    """Heads: some number of theirs, and another, their `effect`."""
    drawing: Drawing = (
        alt.Chart(HEADS)
        .mark_point(filled=True, size=50, opacity=0.7, cursor="pointer")
        .encode(
            x=alt.X(f"{field}:Q", title=title, axis=alt.Axis(format=".3~g", tickCount=6)),
            y=alt.Y("effect:Q", title=up),
            color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis"), title="layer"),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip(f"{field}:Q", format=".3~g"),
                alt.Tooltip("effect:Q", format="+.4f"),
            ],
        )
        .properties(width=240, height=240)
    )
    return drawing


def layer_curve(names: list[str], unit: Unit, intervals: bool, *, baseline: bool = True) -> Drawing:
    """Heads as points, the mean of each layer as a line, the baseline dashed (Clark's figures).

    Args:
        names: the values of the rows' `series`: what is drawn in which colour.
        intervals: whether the rows have any to draw.
        baseline: whether they have one; if not, the scale need not begin at 0.
    """
    colour = alt.Color(
        "series:N",
        sort=names,
        scale=alt.Scale(domain=names, range=COLOURS[: len(names)]),
        legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=300),
    )
    shape = alt.Shape("series:N", sort=names, scale=alt.Scale(domain=names))
    title = unit.axis
    x = alt.X("layer:O", title="layer", axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=title, axis=_axis(unit), scale=alt.Scale(zero=baseline))
    points = (
        alt.Chart(HEADS)
        .mark_point(filled=True, opacity=0.45, size=28, cursor="pointer")
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=_tooltip(unit))
    )
    means = alt.Chart(LAYERS).encode(x=x, color=colour, tooltip=_tooltip(unit))
    line = means.mark_line(strokeWidth=2.5).encode(y=y)
    bands = [means.mark_rule(strokeWidth=2.5).encode(y="low:Q", y2="high:Q")] if intervals else []
    dashed = means.mark_line(strokeWidth=1.2, strokeDash=[5, 4]).encode(y="baseline:Q")
    return alt.layer(points, *([dashed] if baseline else []), *bands, line).properties(
        width=300, height=220
    )


def profile(rows: Sequence[Datum], groups: list[str], unit: Unit) -> Drawing:
    """One small map a layer: heads down, offsets across."""
    cell = (
        alt.Chart()
        .mark_rect(cursor="pointer")
        .encode(
            x=alt.X(
                "group:O", sort=groups, title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)
            ),
            y=alt.Y("head:O", title="head", axis=alt.Axis(labelOverlap=True)),
            color=_ink(rows, unit),
            tooltip=[alt.Tooltip("group:O", title="offset"), *_tooltip(unit)],
        )
        .properties(width=200, height=110)
    )
    drawing: Drawing = cell.facet(
        facet=alt.Facet(
            "layer:O", title=None, header=alt.Header(labelExpr="'layer ' + datum.value")
        ),
        columns=3,
        data=HEADS,
    )
    return drawing


def map_chart() -> Drawing:
    """One head on one text: the row of a token says where it looks.

    The page fills in the data `map`; labels are `number<zero-width space>token`.
    """
    label = "split(datum.label, '\u200b')[1]"
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="map"))
        .mark_rect()
        .encode(
            x=alt.X(
                "key:O",
                sort=None,
                title="looks at",
                axis=alt.Axis(orient="top", labelAngle=-60, labelExpr=label, labelOverlap=False),
            ),
            y=alt.Y(
                "query:O",
                sort=None,
                title="token",
                axis=alt.Axis(labelExpr=label, labelOverlap=False),
            ),
            color=alt.Color(
                "weight:Q",
                scale=alt.Scale(range=RAMP, domain=[0, 1], interpolate="rgb"),
                legend=alt.Legend(
                    title="weight", orient="bottom", gradientLength=110, gradientThickness=10
                ),
            ),
            tooltip=[
                alt.Tooltip("from:N", title="token"),
                alt.Tooltip("to:N", title="looks at"),
                alt.Tooltip("weight:Q", format=".2f"),
            ],
        )
        .properties(width=alt.Step(17), height=alt.Step(17))
    )
    return drawing


def map_rows(tokens: list[str], levels: bytes) -> list[Datum]:
    """The data of `map_chart`, from a map as the run folder keeps it."""
    labels = [f"{place}\u200b{token}" for place, token in enumerate(tokens)]
    size = len(tokens)
    return [
        {
            "query": labels[n // size],
            "key": labels[n % size],
            "from": tokens[n // size],
            "to": tokens[n % size],
            "weight": round(level / 255, 2),
        }
        for n, level in enumerate(levels)
    ]


def spec(drawing: Drawing) -> dict[str, Any]:
    """A drawing as Vega-Lite, in the style of the report."""
    return dict(
        drawing.configure_view(strokeOpacity=0)
        .configure_axis(grid=False, labelFontSize=11, titleFontSize=11)
        .configure_legend(labelFontSize=11, titleFontSize=11)
        .to_dict(validate=False)
    )


def label_marks(drawn: dict[str, Any]) -> None:
    """Let every mark with a tooltip say the same in words; in place."""
    tooltips = drawn.get("encoding", {}).get("tooltip")
    if tooltips:
        parts = " + '; ' + ".join(map(_in_words, tooltips))
        drawn["transform"] = [*drawn.get("transform", []), {"calculate": parts, "as": "in_words"}]
        drawn["encoding"]["description"] = {"field": "in_words", "type": "nominal"}
    for key in ("layer", "hconcat", "vconcat", "spec"):
        inner = drawn.get(key, [])
        for one in inner if isinstance(inner, list) else [inner]:
            label_marks(one)


def _in_words(tooltip: dict[str, Any]) -> str:
    """A Vega expression of a tooltip's title and value."""
    title, value = tooltip.get("title", tooltip["field"]), f"datum['{tooltip['field']}']"
    style = tooltip.get("format")
    shown = f"(isNumber({value}) ? format({value}, '{style}') : '-')" if style else value
    return f"'{title}: ' + {shown}"
