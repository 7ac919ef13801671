"""Pruning: what a task loses as heads go, which way of choosing is best, what was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np

from headscope.report.charts import COLOURS, Chart, Drawing
from headscope.report.sections import Panel
from headscope.runs import Results, rows_of

Row = dict[str, Any]
INKS = {"importance": COLOURS[0], "ablation": COLOURS[1], "gates": COLOURS[2], "random": "#777777"}
"""One colour a way of choosing; the same estimated again after some heads has one of its own."""
CURVES = alt.NamedData(name="curves")
READING = (
    "Across: heads kept; up: the metric on data that had no part in choosing them, with 95% "
    "intervals of the paired difference; for random orders, the mean and the range of several."
)


def pruning(one: Results) -> Iterator[Panel]:
    """The curves of the task's first metric, and the model that was made."""
    record = one.record
    if "pruned" not in record:  # a path of gates has its own panel
        return
    intact, study = record["intact"][0], record["study"]
    metric, total = intact["metric"], record["pruned"]["heads"]
    rows = rows_of(one.pruning, metric=metric, part="test")
    ways = tuple(dict.fromkeys(row["method"] for row in rows))
    curves = [point for way in ways for point in _curve(rows, way, intact, total)]
    guessing = "" if intact["nothing"] is None else " Dashed: always guessing the commonest class."
    yield Panel(
        f"Pruning: {study['model']['name']} for {study['task']['name']}",
        [claim(record), *_said(record, study)],
        [
            Chart(
                f"pruning-{metric}", f"{metric} as heads go", READING + guessing,
                _drawing(metric, intact, list(ways)), other={"curves": curves},
            )
        ],
        ("heads kept", *ways),
        _table(curves),
    )  # fmt: skip


def claim(record: Row) -> str:
    """Heads removed, points lost, times faster, with intervals."""
    about = record["pruned"]
    row = about.get("tuned", about["test"])[0]
    share, speed = 1 - about["kept"] / about["heads"], about["speed"]
    scale, unit, style = (
        (100, " points", "+.1f") if record["intact"][0]["share"] else (1, "", "+.3f")
    )
    delta, low, high = (f"{scale * row[key]:{style}}" for key in ("delta", "low", "high"))
    tuned = ", after fine-tuning," if "tuned" in about else ""
    return (
        f"{share:.0%} of the heads removed ({about['kept']} of {about['heads']} are left){tuned} "
        f"by {about['method']}; {row['metric']} {delta}{unit} [{low}, {high}] on "
        f"{row['n']:,} examples that had no part in the choice; {speed['times']:.2f} times as "
        f"fast [{speed['low']:.2f}, {speed['high']:.2f}]."
    )


def _said(record: Row, study: Row) -> Iterator[str]:
    about, sizes = record["pruned"], record["sizes"]
    before, after = about["parameters"]
    yield (
        f"Heads were chosen on {sizes['choice']:,} examples and tried on {sizes['test']:,} others. "
        f"{before:,} parameters before, {after:,} after ({after / before:.1%}). The pruned model's "
        f"outputs are those of the intact one with the same heads off to "
        f"{about['difference']:.0e} of the largest."
    )
    step = study["options"]["step"]
    if step is not None:
        yield f"What heads are worth was estimated again after every {step} that went."


def _curve(rows: list[Row], way: str, intact: Row, total: int) -> Iterator[Row]:
    """The points of one way, the intact model first."""
    mine = [row for row in rows if row["method"] == way]
    if not mine:
        return
    whole = intact["value"]
    yield {"way": way, "kept": total, "value": whole, "low": whole, "high": whole}
    for kept in sorted({row["kept"] for row in mine}, reverse=True):
        some = [row for row in mine if row["kept"] == kept]
        values = [row["value"] for row in some]
        low, high = (
            (min(values), max(values))
            if len(some) > 1
            else (whole + some[0]["low"], whole + some[0]["high"])
        )
        yield {"way": way, "kept": kept, "value": float(np.mean(values)), "low": low, "high": high}


def _table(curves: list[Row]) -> list[tuple[str, ...]]:
    ways = list(dict.fromkeys(point["way"] for point in curves))
    found = {(point["way"], point["kept"]): point for point in curves}
    return [
        (str(kept), *(
            f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            for one in (found[way, kept] for way in ways)
        ))
        for kept in sorted({point["kept"] for point in curves}, reverse=True)
    ]  # fmt: skip


def _drawing(metric: str, intact: Row, ways: list[str]) -> Drawing:
    colour = alt.Color(
        "way:N", title="chosen by", sort=ways,
        scale=alt.Scale(domain=ways, range=[INKS.get(way, COLOURS[3]) for way in ways]),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip
    base = alt.Chart(CURVES).encode(
        x=alt.X("kept:Q", title="heads kept", scale=alt.Scale(reverse=True, nice=False)),
        color=colour,
    )
    up = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
    tooltip = [alt.Tooltip("way:N", title="chosen by"), alt.Tooltip("kept:Q", title="heads kept"),
               alt.Tooltip("value:Q", title=metric, format=".3f"),
               alt.Tooltip("low:Q", title="from", format=".3f"),
               alt.Tooltip("high:Q", title="to", format=".3f")]  # fmt: skip
    layers = [
        base.mark_area(opacity=0.13).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line().encode(y=up),
        base.mark_circle(size=45).encode(y=up, tooltip=tooltip),
    ]
    if intact["nothing"] is not None:
        floor = alt.Chart(alt.Data(values=[{"value": intact["nothing"]}]))
        layers.append(floor.mark_rule(strokeDash=[4, 3], color="#777").encode(y="value:Q"))
    drawing: Drawing = alt.layer(*layers).properties(width=420, height=280)
    return drawing
