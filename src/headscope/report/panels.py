"""Panels: experiments as sections of the report, with the paper's figure and how to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.naming import head_name
from headscope.report.charts import (
    Chart,
    heat_map,
    layer_bars,
    layer_curve,
    map_chart,
    map_rows,
    scatter,
    similarity_map,
)
from headscope.report.summary import SURE, interval, number
from headscope.runs import Results, rows_of

Row = dict[str, Any]
Floats = NDArray[np.float64]
SHOWN = 10
"""Heads in a table."""
SIDE_BY_SIDE = 8
"""Statistics that are shown for several models beside each other."""
VERDICTS = {"helps": "help", "hurts": "hurt", "nothing": "do nothing", "unclear": "are unclear"}


@dataclass(frozen=True)
class Panel:
    """A section: what it says, its charts, its table."""

    title: str
    text: list[str]
    charts: list[Chart] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)


def panels(results: list[Results]) -> list[Panel]:
    """The panels of some runs, and of pairs of them that belong together."""
    made = [panel for one in results for panel in (*ablation(one), *change(one))]
    return made + list(change_and_effect(results))


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
        unit = "points" if intact["share"] else "nats"
        charts = []
        if heads:
            charts.append(
                Chart(
                    f"ablation-{metric}-heads", f"{metric} with one head off",
                    f"How much {metric} gains (blue) or loses (orange) when a head attends "
                    "uniformly; white: nothing changes. A cell may differ from white by chance: "
                    "the table below says what is sure.",
                    heat_map(heads, "points"), heads,
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
            ("off", metric, "difference", "95% interval", "q", "predictions changed", "verdict"),
            [_line(row, intact) for row in _extremes(heads) + layers + sets],
        )


def gained(row: Row, intact: Row) -> Row:
    """The gain by having something off, so that more is better whatever the metric."""
    sign = intact["better"]
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return {"value": sign * row["delta"], "low": low, "high": high, "baseline": 0.0, "of": row}


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
        "heads."
    )  # fmt: skip
    counts = Counter(row["of"]["verdict"] for row in rows)
    parts = [f"{counts[key]} {said}" for key, said in VERDICTS.items() if counts[key]]
    yield (
        f"Of {len(rows)}, {', '.join(parts)}. Helps: the task is worse without it; hurts: it is "
        "better without it (both corrected); nothing: the interval lies within one point of 0; "
        "unclear: the data do not tell."
    )
    yield from (f"Note: {warning}." for warning in record["warnings"])


def _value(value: float, intact: Row) -> str:
    return number(value, "share" if intact["share"] else "nats")


def _extremes(rows: list[Row]) -> list[Row]:
    """The heads whose loss is felt most and those one is better off without."""
    ranked = sorted(rows, key=lambda row: row["value"])
    return ranked if len(ranked) <= 2 * SHOWN else ranked[:SHOWN] + ranked[-SHOWN:]


def _line(row: Row, intact: Row) -> tuple[str, ...]:
    found = row["of"]
    unit = "points" if intact["share"] else "nats"
    return (
        found["name"], _value(found["value"], intact), number(found["delta"], unit),
        interval(found, unit), f"{found['q']:.3f}", f"{found['changed']:,} of {found['n']:,}",
        found["verdict"],
    )  # fmt: skip


def change(one: Results) -> Iterator[Panel]:
    """How alike the maps of two models are, head by head."""
    models = one.record["study"].get("models")
    if not models:
        return
    base, tuned = models["base"]["name"], models["tuned"]["name"]
    for corpus in dict.fromkeys(row["corpus"] for row in one.record["corpora"]):
        rows = rows_of(one.heads, analysis="change", corpus=corpus)
        heads = [row for row in rows if row["head"] is not None]
        layers = [row | {"series": "similarity"} for row in rows
                  if row["head"] is None and row["layer"] is not None]  # fmt: skip
        points = [row | {"series": "similarity"} for row in heads]
        least = min(layers, key=lambda row: row["value"])
        charts = [
            Chart("change-heads", "similarity of maps",
                  "Cosine of a head's maps before and after; the darker, the more it changed.",
                  similarity_map(heads), heads),
            Chart("change-layers", "similarity by layer",
                  "A point is a head, the line joins the means of the layers, with 95% intervals.",
                  layer_curve(
                      ["similarity"], "share", any(row["low"] is not None for row in layers),
                      baseline=False), points, layers),
            *_before_and_after(one, corpus, heads),
        ]  # fmt: skip
        yield Panel(
            f"Change: {base} and {tuned} on {corpus}",
            [
                f"Cosine similarity of the attention maps of {base} (before) and {tuned} (after) "
                f"on the same texts, flattened; 1 means unchanged. The layer that changed most is "
                f"L{least['layer']} ({number(least['value'], 'share')} "
                f"{interval(least, 'share')}).",
                "In the table: of every number that a scan gives, the one that moved most for this "
                "head among those whose paired difference is sure (q below .05).",
            ],
            charts,
            ("head", "similarity", "95% interval", "what moved most", "before", "after",
             "difference"),
            list(_moved(one, corpus, heads)),
        )  # fmt: skip
        if "beside" in models:
            yield side_by_side(one, corpus)


def _before_and_after(one: Results, corpus: str, heads: list[Row]) -> Iterator[Chart]:
    """Maps of the most and the least changed heads on the shortest text that was kept."""
    ranked = sorted(heads, key=lambda row: row["value"])
    kept = rows_of(one.maps, corpus=corpus)
    if not kept:
        return
    example = min(kept, key=lambda row: (len(row["tokens"]), row["example"]))["example"]
    for said, row in (("most", ranked[0]), ("second most", ranked[1]), ("least", ranked[-1])):
        name = head_name(row["layer"], row["head"])
        for weights, when in (("base", "before"), ("tuned", "after")):
            (found,) = (
                one for one in kept
                if (one["example"], one["weights"]) == (example, weights)
                and (one["layer"], one["head"]) == (row["layer"], row["head"])
            )  # fmt: skip
            yield Chart(
                f"change-{name}-{when}", f"{name} {when}",
                f"The {said} changed head: cosine {row['value']:.3f}.",
                map_chart(), other={"map": map_rows(found["tokens"], found["map"])},
            )  # fmt: skip


def _moved(one: Results, corpus: str, heads: list[Row]) -> Iterator[tuple[str, ...]]:
    """The most and least changed heads, with the statistic that moved most."""
    units = {(a["analysis"], s["statistic"]): s["unit"] for a in one.record["analyses"]
             for s in a["statistics"]}  # fmt: skip
    sure: dict[tuple[int, int], Row] = {}
    for row in rows_of(one.heads, corpus=corpus, weights="difference"):
        key = (row["layer"], row["head"])
        known = units.get((row["analysis"], row["statistic"])) in ("share", "points")
        if row["head"] is None or not known or row["q"] is None or row["q"] >= SURE:
            continue
        if key not in sure or abs(row["value"]) > abs(sure[key]["value"]):
            sure[key] = row
    ranked = sorted(heads, key=lambda row: row["value"])
    shown = ranked if len(ranked) <= 2 * SHOWN else ranked[:SHOWN] + ranked[-3:]
    values = {
        (row["weights"], *_key(row)): row["value"]
        for row in rows_of(one.heads, corpus=corpus)
        if row["head"] is not None
    }
    for row in shown:
        found = sure.get((row["layer"], row["head"]))
        bounds = "-" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        line = (head_name(row["layer"], row["head"]), f"{row['value']:.3f}", bounds)
        if found is None:
            yield (*line, "nothing surely", "-", "-", "-")
            continue
        before, after = (values[weights, *_key(found)] for weights in ("base", "tuned"))
        name = " ".join(str(part) for part in _key(found)[:4] if part is not None)
        yield (
            *line, name.replace("_", " "), number(before, "share"), number(after, "share"),
            number(found["value"], "points"),
        )  # fmt: skip


def _key(row: Row) -> tuple[Any, ...]:
    """What a number is of."""
    names = ("analysis", "statistic", "group", "direction", "layer", "head")
    return tuple(row[name] for name in names)


def side_by_side(one: Results, corpus: str) -> Panel:
    """What comes from pre-training: the same statistics of all models, layer by layer."""
    models = one.record["study"]["models"]
    roles = {"base": f"{models['base']['name']} (base)", "tuned": "fine-tuned from it",
             "beside": f"{models['beside']['name']} (beside)"}  # fmt: skip
    charts = []
    headlines = [
        (analysis["analysis"], statistic, group or None, text)
        for analysis in one.record["analyses"]
        for statistic in analysis["statistics"]
        for group, text in statistic["headlines"].items()
    ]
    for name, statistic, group, text in headlines[:SIDE_BY_SIDE]:
        found = [
            row | {"series": roles[row["weights"]]}
            for row in rows_of(one.heads, corpus=corpus, analysis=name,
                               statistic=statistic["statistic"])
            if row["group"] == group and row["direction"] == statistic["direction"]
            and row["weights"] in roles and row["layer"] is not None
        ]  # fmt: skip
        heads = [row for row in found if row["head"] is not None]
        layers = [row for row in found if row["head"] is None]
        if layers:
            charts.append(
                Chart(f"side-{name}-{text}".replace(" ", "-"), text, "",
                      layer_curve(list(roles.values()), statistic["unit"],
                                  any(row["low"] is not None for row in layers)),
                      heads, layers)
            )  # fmt: skip
    return Panel(
        f"What comes from pre-training: {corpus}",
        [
            "The same statistics for the base model, the fine-tuned one, and a third beside them. "
            "Where the third was fine-tuned from random weights: what it lacks and the other two "
            "have comes from pre-training; what it shares with the fine-tuned model comes from the "
            "task. A point is a head, a line joins the means of the layers; dashed is the baseline."
        ],
        charts,
    )


def change_and_effect(results: list[Results]) -> Iterator[Panel]:
    """Do the heads that changed most matter most? For a comparison and an ablation of one model."""
    for compared in results:
        models = compared.record["study"].get("models")
        for ablated in results:
            same = models and ablated.ablation.num_rows and (
                ablated.record["study"]["model"]["sha256"] == models["tuned"]["sha256"]
            )  # fmt: skip
            if same:
                yield from _together(compared, ablated)


def _together(compared: Results, ablated: Results) -> Iterator[Panel]:
    intact = ablated.record["intact"][0]
    effects = {
        (row["layer"], row["head"]): gained(row, intact)["value"]
        for row in rows_of(ablated.ablation, metric=intact["metric"], unit="head")
    }
    for corpus in dict.fromkeys(row["corpus"] for row in compared.record["corpora"]):
        points = [
            row | {"change": 1 - row["value"], "effect": effects[row["layer"], row["head"]]}
            for row in rows_of(compared.heads, analysis="change", corpus=corpus)
            if row["head"] is not None and (row["layer"], row["head"]) in effects
        ]
        if len(points) < 3:
            continue
        one, other = (np.array([row[key] for row in points]) for key in ("change", "effect"))
        name = ablated.record["study"]["model"]["name"]
        yield Panel(
            f"Do the heads that changed most matter most? {name}",
            [
                f"Across: how much a head's maps changed ({corpus}); up: what {intact['metric']} "
                "gains when it is off.",
                _correlated(one, np.abs(other)),
            ],
            [Chart("change-and-effect", "change and effect", "A point is a head.",
                   scatter(intact["metric"]), points)],
        )  # fmt: skip


def _correlated(changes: Floats, effects: Floats) -> str:
    """Whether change and effect go together, in words."""
    if min(np.ptp(changes), np.ptp(effects)) < 1e-6:
        return "All heads changed alike, or none matters: nothing can be said."
    rho, low, high = rank_correlation(changes, effects)
    if low <= 0 <= high:
        said = "Its interval includes 0: the data do not show that they do."
    else:
        said = f"The heads that changed more matter {'more' if rho > 0 else 'less'}."
    return (
        f"Spearman's correlation of change with the size of the effect, over {len(changes)} heads: "
        f"{rho:+.2f} [{low:+.2f}, {high:+.2f}] (bootstrap over heads). {said}"
    )


def rank_correlation(one: Floats, other: Floats, times: int = 2000) -> tuple[float, float, float]:
    """Spearman's correlation with a bootstrap interval over its points.

    >>> rank_correlation(np.arange(9.0), np.arange(9.0))
    (1.0, 1.0, 1.0)
    """
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(times):
        places = random.integers(0, len(one), len(one))
        if np.ptp(one[places]) and np.ptp(other[places]):
            drawn.append(stats.spearmanr(one[places], other[places]).statistic)
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = float(stats.spearmanr(one, other).statistic)
    return round(found, 9), round(float(low), 9), round(float(high), 9)
