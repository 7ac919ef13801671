"""Charts: data and a drawing. The page draws the common kinds by itself, files have all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import vl_convert

from headscope._util.naming import SELF, head_name
from headscope.evidence import HeadRow, Unit
from headscope.evidence.example_tables import MapRow
from headscope.report.drawings import (
    Datum,
    Drawing,
    heat_map,
    label_marks,
    layer_curve,
    map_chart,
    map_rows,
    profile,
    spec,
)

Json = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart with its data, a name for its file and a sentence on how to read it.

    The data stand beside the drawing: Altair would check each.

    Attributes:
        drawing: Vega-Lite, or what makes it when a file is written.
        headline: the number of a view that it shows, which the page draws from the view's data.
        text_map: the map of a head on a text that it shows, which the page draws.
        page: what the page draws it from, if it is of a kind that the page knows.
    """

    name: str
    title: str
    caption: str
    drawing: Drawing | Callable[[], Drawing]
    heads: list[Datum] = field(default_factory=list)
    layers: list[Datum] = field(default_factory=list)
    wide: bool = False
    other: dict[str, list[Datum]] = field(default_factory=dict)
    headline: str = ""
    text_map: MapRow | None = None
    page: Callable[[], Json] | None = None

    def spec(self) -> dict[str, Any]:
        """The chart as Vega-Lite."""
        data = {"heads": self.heads, "layers": self.layers} | self.other
        kept = {name: rows for name, rows in data.items() if rows}
        drawing = self.drawing if isinstance(self.drawing, Drawing) else self.drawing()
        return spec(drawing) | {"datasets": kept}

    def svg(self, **top: object) -> str:
        """The chart as SVG, whose marks say in `aria-label` what a pointer would be shown.

        Args:
            top: of the Vega-Lite, such as a background.
        """
        drawn = self.spec() | top
        label_marks(drawn)
        return str(vl_convert.vegalite_to_svg(drawn))


def datum(
    layer: int | None, head: int | None, value: float, attention: str = SELF, **extra: object
) -> Datum:
    """The data of one head or layer; what is None is left out.

    >>> datum(2, 3, 0.5, low=0.4, high=0.6, baseline=None)["name"]
    'L2.H3'
    """
    columns = {"layer": layer, "head": head, "value": value} | extra
    known = {name: item for name, item in columns.items() if item is not None}
    return known | {"name": head_name(layer, head, attention)}


def head_datum(row: HeadRow, **extra: object) -> Datum:
    """The data of a number of heads.parquet."""
    evidence: Datum = {"low": row.low, "high": row.high, "baseline": row.baseline, "n": row.n}
    place = (row.layer, row.head, row.value, row.attention)
    return datum(*place, **evidence | {"group": row.group} | extra)


def head_map(
    name: str, title: str, caption: str, rows: list[Datum], unit: Unit, *, headline: str = ""
) -> Chart:
    """A number of every head: the more ink, the more of it.

    Args:
        rows: made by `datum`.
        headline: the number of the view that it shows, where it is one.
    """
    drawing = partial(heat_map, rows, unit)
    page = None if headline else partial(_board_data, rows, unit)
    return Chart(name, title, caption, drawing, rows, headline=headline, page=page)


def by_layer(
    name: str,
    title: str,
    caption: str,
    series: list[str],
    unit: Unit,
    *,
    heads: list[Datum],
    layers: list[Datum],
    baseline: bool = True,
) -> Chart:
    """Heads as points, the mean of each layer as a line, the baseline dashed (Clark's figures).

    Args:
        series: the values of the rows' `series`: what is drawn in which colour.
        heads, layers: rows, made by `head_datum`.
        baseline: whether rows have one; if not, the scale need not begin at 0.
    """
    intervals = any("low" in row for row in layers)
    drawing = partial(layer_curve, series, unit, intervals, baseline=baseline)
    page = partial(_layer_data, series, unit, heads, layers, baseline)
    return Chart(name, title, caption, drawing, heads, layers, page=page)


def by_offset(
    name: str, title: str, caption: str, rows: list[Datum], *, groups: list[str], unit: Unit
) -> Chart:
    """One small map a layer: heads down, offsets across."""
    drawing = partial(profile, rows, groups, unit)
    page = partial(_offset_data, rows, groups, unit)
    return Chart(name, title, caption, drawing, rows, wide=True, page=page)


def map_of_text(name: str, title: str, caption: str, row: MapRow) -> Chart:
    """The map of a head on a text."""
    data = {"map": map_rows(row.tokens, row.map)}
    return Chart(name, title, caption, map_chart, other=data, text_map=row)


def _in_words(row: Datum, unit: Unit) -> str:
    """The number of a row with its interval and baseline."""
    words = f"{row['name']}: {unit.number(row['value'])}"
    if "low" in row:
        words += f" {unit.interval(row['low'], row['high'])}"
    known = "baseline" in row and not unit.signed
    return words + (f", baseline {unit.number(row['baseline'])}" if known else "")


def _board_data(rows: list[Datum], unit: Unit) -> Json:
    """What the page needs of a map of heads."""
    counts = dict[int, int]()
    for row in rows:
        counts[row["layer"]] = max(counts.get(row["layer"], 0), row["head"] + 1)
    return {
        "kind": "board",
        "layers": [counts.get(layer, 0) for layer in range(max(counts) + 1)],
        "bounded": unit.bounded,
        "signed": unit.signed,
        "rows": {
            row["name"]: [
                _round(row["value"]),
                _round(row.get("baseline")),
                _in_words(row, unit),
                row.get("sure", True),
            ]
            for row in rows
        },
    }


def _layer_data(
    series: list[str], unit: Unit, heads: list[Datum], layers: list[Datum], baseline: bool
) -> Json:
    """What the page needs of a chart by layer."""
    return {
        "kind": "layers",
        "series": series,
        "axis": unit.axis,
        "percent": unit.percent,
        "from_zero": baseline,
        "heads": [
            [row["layer"], _round(row["value"]), series.index(row["series"]), _in_words(row, unit)]
            for row in heads
        ],
        "layers": [
            [
                row["layer"],
                _round(row["value"]),
                _round(row.get("low")),
                _round(row.get("high")),
                _round(row.get("baseline")) if baseline else None,
                series.index(row["series"]),
                _in_words(row, unit),
            ]
            for row in layers
        ],
    }


def _offset_data(rows: list[Datum], groups: list[str], unit: Unit) -> Json:
    """What the page needs of a profile over offsets."""
    heads: dict[str, list[float | None]] = {}
    for row in rows:
        values = heads.setdefault(row["name"], [None] * len(groups))
        values[groups.index(row["group"])] = _round(row["value"], 3)
    return {"kind": "offsets", "groups": groups, "percent": unit.percent, "heads": heads}


def _round(value: float | None, digits: int = 5) -> float | None:
    return None if value is None else round(value, digits)
