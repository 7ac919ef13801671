"""The five shapes of maps: bars, the shape of each head, typical maps, and heads that switch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import altair as alt

from headscope._util.naming import head_name
from headscope.report.charts import Chart, Drawing, map_chart, map_rows
from headscope.report.numbers import interval, number
from headscope.report.sections import SHOWN, Panel
from headscope.runs import rows_of

if TYPE_CHECKING:
    from headscope.report.views import View

Row = dict[str, Any]
COLOURS = {
    "vertical": "#0072B2",
    "diagonal": "#D55E00",
    "vertical+diagonal": "#E69F00",
    "block": "#009E73",
    "heterogeneous": "#999999",
}
"""Of the shapes, in the order in which bars are stacked."""
INFORMATIVE = ("block", "heterogeneous")


def shapes(view: View) -> list[Row]:
    """The rows of the shapes of a view."""
    return [
        row for row in view.rows if (row["analysis"], row["statistic"]) == ("patterns", "shape")
    ]


def dominant(view: View) -> dict[str, Row]:
    """The row of the commonest shape of each head, by the head's name."""
    found: dict[str, Row] = {}
    for row in shapes(view):
        if row["head"] is not None:
            name = head_name(row["layer"], row["head"])
            if name not in found or row["value"] > found[name]["value"]:
                found[name] = row
    return found


def panel(view: View) -> Panel | None:
    """The shapes of one model on one corpus."""
    rows = shapes(view)
    if not rows:
        return None
    whole = {row["group"]: row for row in rows if row["layer"] is None}
    layers = [row for row in rows if row["head"] is None and row["layer"] is not None]
    heads = [
        {"layer": row["layer"], "head": row["head"], "name": name, "shape": row["group"],
         "value": row["value"], "low": row["low"], "high": row["high"], "n": row["n"]}
        for name, row in dominant(view).items()
    ]  # fmt: skip
    together = sum(whole[shape]["value"] for shape in INFORMATIVE)
    counted = Counter(row["shape"] for row in heads)
    lines: list[tuple[str, ...]] = [
        (
            shape, number(row["value"], "share"), interval(row, "share"), f"{counted[shape]}",
            ", ".join(_best(heads, shape)) or "-",
        )
        for shape, row in ((shape, whole[shape]) for shape in COLOURS)
    ]  # fmt: skip
    return Panel(
        "Shapes",
        [
            f"Block and heterogeneous maps together, Kovaleva's upper bound of what can be "
            f"informative: {number(together, 'share')}."
        ],
        [
            Chart("shapes-by-layer", "shapes by layer",
                  "How many of a layer's maps (one a head and text) have each shape; vertical"
                  "+diagonal is counted apart from both.", bars("layer:O", "layer"),
                  other={"bars": _bars(layers, "layer")}),
            Chart("shapes-by-head", "the commonest shape of each head",
                  "The paler, the smaller its share of the head's maps.", by_head(heads),
                  other={"heads": heads}),
            *_typical(view),
        ],
        ("shape", "of all maps", "95% interval", "heads", "heads that show it most"),
        lines,
    )  # fmt: skip


def _best(heads: list[Row], shape: str) -> list[str]:
    mine = sorted((row for row in heads if row["shape"] == shape), key=lambda row: -row["value"])
    return [f"{row['name']} {number(row['value'], 'share')}" for row in mine[:3]]


def _bars(rows: list[Row], place: str) -> list[Row]:
    order = list(COLOURS)
    return [
        {place: row[place], "shape": row["group"], "value": row["value"], "low": row["low"],
         "high": row["high"], "rank": order.index(row["group"])}
        for row in rows
    ]  # fmt: skip


def _scale() -> alt.Scale:
    return alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))


def bars(place: str, title: str) -> Drawing:
    """Stacked bars, one for each layer, corpus or model."""
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="bars"))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y(place, title=title, sort=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X("value:Q", stack="normalize", title="share of maps", axis=alt.Axis(format="%")),
            color=alt.Color("shape:N", title="shape", scale=_scale()),
            order="rank:Q",
            tooltip=[
                alt.Tooltip("shape:N"),
                alt.Tooltip("value:Q", title="share", format=".1%"),
                alt.Tooltip("low:Q", title="from", format=".1%"),
                alt.Tooltip("high:Q", title="to", format=".1%"),
            ],
        )
        .properties(width=330, height=alt.Step(22))
    )
    return drawing


def by_head(heads: list[Row]) -> Drawing:
    """Layer by head: the colour is the commonest shape, its strength the share of it."""
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="heads"))
        .mark_rect(stroke="#ddd", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("layer:O", title="layer"),
            color=alt.Color("shape:N", title="shape", scale=_scale()),
            opacity=alt.Opacity(
                "value:Q",
                title="of its maps",
                scale=alt.Scale(domain=[0.2, 1], range=[0.15, 1]),
                legend=alt.Legend(format="%", values=[0.25, 0.5, 1]),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("shape:N"),
                alt.Tooltip("value:Q", title="of its maps", format=".1%"),
                alt.Tooltip("low:Q", title="from", format=".1%"),
                alt.Tooltip("high:Q", title="to", format=".1%"),
                alt.Tooltip("n:Q", title="maps", format=","),
            ],
        )
        .properties(width=280, height=22 * len({row["layer"] for row in heads}))
    )
    return drawing


def _typical(view: View) -> Iterator[Chart]:
    """For each shape the map that the classifier is surest of, among those that were kept."""
    found: dict[str, Row] = {}
    for row in rows_of(view.results.maps, corpus=view.corpus, weights=view.weights):
        if row["shape"] is None:
            continue
        best = found.get(row["shape"])
        if best is None or row["probability"] > best["probability"]:
            found[row["shape"]] = row
    for shape in COLOURS:
        if shape in found:
            row = found[shape]
            name = head_name(row["layer"], row["head"])
            yield Chart(
                f"typical-{shape}", f"typical: {shape}",
                f"{name} on {row['example']}: {shape} with {row['probability']:.0%}.",
                map_chart(), other={"map": map_rows(row["tokens"], row["map"])},
            )  # fmt: skip


def across(shown: list[View]) -> Iterator[Panel]:
    """Shapes of several views side by side, and the heads that switch between two of them."""
    views = [view for view in shown if shapes(view)]
    if len(views) < 2:
        return
    rows = [
        row | {"title": view.title}
        for view in views
        for row in shapes(view)
        if row["layer"] is None
    ]
    switching = list(_switches(views))
    yield Panel(
        "Shapes side by side",
        [
            "Which share of all maps has each shape. In the table: heads of one model whose "
            "commonest shape is another there, with its share and 95% interval; only those "
            "whose intervals lie above a half on both sides.",
        ],
        [
            Chart("shapes-side-by-side", "shapes by model and corpus", "", bars("title:N", ""),
                  other={"bars": _bars(rows, "title")})
        ],
        ("head", "from", "shape", "share", "to", "shape ", "share "),
        switching,
    )  # fmt: skip


def _switches(views: list[View]) -> Iterator[tuple[str, ...]]:
    """Heads whose commonest shape differs for sure, the clearest first."""
    lines: dict[tuple[str, ...], float] = {}
    groups: dict[tuple[int, int], list[View]] = defaultdict(list)
    for view in views:
        if view.weights != "random":
            groups[view.model_record["layers"], view.model_record["heads"]].append(view)
    for alike in groups.values():
        for number_of, one in enumerate(alike):
            for other in alike[number_of + 1 :]:
                before, after = dominant(one), dominant(other)
                for name, row in before.items():
                    there = after[name]
                    if row["group"] != there["group"] and _sure(row) and _sure(there):
                        cells = (name, one.title, *_told(row), other.title, *_told(there))
                        lines[cells] = min(row["value"], there["value"])
    yield from sorted(lines, key=lambda cells: -lines[cells])[: 2 * SHOWN]


def _sure(row: Row) -> bool:
    return row["low"] is not None and row["low"] > 0.5


def _told(row: Row) -> tuple[str, str]:
    share = f"{number(row['value'], 'share')} {interval(row, 'share')}"
    return row["group"], share
