"""Heads off: what a task loses or gains, with the paper's figures and how to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from headscope.report.charts import Chart, heat_map, layer_bars
from headscope.report.numbers import interval, number
from headscope.report.sections import SHOWN, Panel
from headscope.runs import Results, rows_of

Row = dict[str, Any]
VERDICTS = {"helps": ("helps", "help"), "hurts": ("hurts", "hurt"),
            "nothing": ("does nothing", "do nothing"),
            "unclear": ("is unclear", "are unclear")}  # fmt: skip


def ablation(one: Results) -> Iterator[Panel]:
    """What a task loses or gains when heads and layers are off."""
    if not one.ablation.num_rows:
        return
    record = one.record
    name, task = record["study"]["model"]["name"], record["study"]["task"]["name"]
    for intact in record["intact"]:
        metric = intact["metric"]
        rows = rows_of(one.ablation, metric=metric)
        gains = [row | gained(row, intact) for row in rows]
        heads, layers, sets = (
            [row for row in gains if row["unit"] == unit] for unit in ("head", "layer", "set")
        )
        unit = difference_unit(intact)
        charts = []
        if heads:
            charts.append(
                Chart(
                    f"ablation-{metric}-heads", f"{metric} with one head off",
                    "How much the task gains (blue) or loses (orange) when a head is "
                    "off; white: nothing changes; colours follow the square root, so that "
                    "small differences are seen. A cell may differ from white by chance: "
                    "the table below says what is sure.",
                    heat_map(heads, unit), heads,
                )
            )  # fmt: skip
        if layers:
            charts.append(
                Chart(
                    f"ablation-{metric}-layers", f"{metric} with all heads of a layer off",
                    "Bars: the gain or loss; lines: 95% intervals of the paired difference. A line "
                    "that crosses 0 may be chance.",
                    layer_bars(unit), layers=layers,
                )
            )  # fmt: skip
        yield Panel(
            f"Heads off: {name} on {task}, {metric}",
            list(_said(record, intact, heads or sets)),
            charts,
            ("off", metric, "difference", "95% interval", "q", "changed", "verdict"),
            [_line(row, intact, record) for row in _extremes(heads) + layers + sets],
        )


def difference_unit(intact: Row) -> str:
    """What differences of a metric are written in."""
    return "points" if intact["share"] else "nats gained"


def gained(row: Row, intact: Row) -> Row:
    """The gain by having something off, so that more is better whatever the metric."""
    sign = intact["better"]
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return {"value": sign * row["delta"], "low": low, "high": high, "baseline": 0.0, "of": row}


def effects(one: Results) -> dict[tuple[int, int], float]:
    """What the first metric gains without each head, by layer and head."""
    intact = one.record["intact"][0]
    rows = rows_of(one.ablation, metric=intact["metric"], unit="head")
    return {(row["layer"], row["head"]): gained(row, intact)["value"] for row in rows}


def same_study(one: Results, other: Results) -> bool:
    """Whether two runs are of one model on the same task."""
    first, second = one.record["study"], other.record["study"]
    return bool(
        first["model"]["whole_sha256"] == second["model"]["whole_sha256"]
        and first["model"]["sha256"] == second["model"]["sha256"]
        and first["task"]["name"] == second["task"]["name"]
    )


def _said(record: Row, intact: Row, rows: list[Row]) -> Iterator[str]:
    how = record["study"]["options"]["how"]
    ways = {"uniform": "attends alike to all tokens that it may see", "zero": "gives nothing",
            "mean": "gives its mean output"}  # fmt: skip
    yield (
        f"The intact model has {intact['metric']} {_value(intact['value'], intact)} "
        f"[{_value(intact['low'], intact)}, {_value(intact['high'], intact)}] on "
        f"{record['examples']:,} examples"
        + (f"; always guessing the commonest class would have {_value(intact['nothing'], intact)}"
           if intact["nothing"] is not None else "")
        + f". A head that is off {ways[how]}. Differences are paired, q is corrected over all "
        "heads; changed: of how many examples the prediction differs."
    )  # fmt: skip
    budget = record["study"]["options"]["budget"]
    sure = "both corrected"
    if budget:
        sure = (
            f"each wrong for at most {100 * budget['error']:g}% of heads, not corrected over them"
        )
        yield (
            f"A head was tried until its verdict was decided, by one of {budget['looks']} looks at "
            "growing data; p and q allow for all of them."
        )
    counts = Counter(row["of"]["verdict"] for row in rows)
    parts = [f"{counts[key]} {one if counts[key] == 1 else many}"
             for key, (one, many) in VERDICTS.items() if counts[key]]  # fmt: skip
    yield (
        f"Of {len(rows)} {rows[0]['unit']}s, {', '.join(parts)}. Helps: the task is worse without "
        f"it; hurts: it is better without it ({sure}); nothing: the interval lies within "
        f"{number(record['margin'], difference_unit(intact)).lstrip('+')} of 0; unclear: the data "
        "do not tell."
    )
    if intact is record["intact"][0]:  # warnings are about the metric that verdicts are about
        yield from (f"Note: {warning}." for warning in record["warnings"])


def _value(value: float, intact: Row) -> str:
    return number(value, "share" if intact["share"] else "nats")


def _q(q: float) -> str:
    return "<0.001" if q < 0.001 else f"{q:.3f}"


def _extremes(rows: list[Row]) -> list[Row]:
    """The heads whose loss is felt most and those one is better off without."""
    ranked = sorted(rows, key=lambda row: row["value"])
    return ranked if len(ranked) <= 2 * SHOWN else ranked[:SHOWN] + ranked[-SHOWN:]


def _line(row: Row, intact: Row, record: Row) -> tuple[str, ...]:
    found = row["of"]
    unit = difference_unit(intact)
    whole = found["n"] == record["examples"]
    changed = f"{found['changed']:,}" if whole else f"{found['changed']:,} of {found['n']:,}"
    return (
        found["name"], _value(found["value"], intact), number(found["delta"], unit),
        interval(found, unit), _q(found["q"]), changed, found["verdict"],
    )  # fmt: skip
