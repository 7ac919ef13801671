"""What fine-tuning changed, and what comes from pre-training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope._util.naming import head_name
from headscope.report.charts import Chart, layer_curve, map_chart, map_rows, similarity_map
from headscope.report.numbers import SURE, interval, number
from headscope.report.sections import SHOWN, Panel
from headscope.runs import Results, rows_of

Row = dict[str, Any]
SIDE_BY_SIDE = 8
"""Statistics that are shown for several models beside each other."""


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
                      ["similarity"], "cosine", any(row["low"] is not None for row in layers),
                      baseline=False), points, layers),
            *_before_and_after(one, corpus, heads),
        ]  # fmt: skip
        yield Panel(
            f"Change: {base} and {tuned} on {corpus}",
            [
                f"Cosine similarity of the attention maps of {base} (before) and {tuned} (after) "
                f"on the same texts, flattened; 1 means unchanged. The layer that changed most is "
                f"L{least['layer']} ({number(least['value'], 'cosine')} "
                f"{interval(least, 'cosine')}).",
                "In the table: of every number that a scan gives, the one that moved most for this "
                "head among those whose paired difference is sure (q below .05).",
            ],
            charts,
            ("head", "cosine", "95% interval", "what moved most", "before", "after", "by"),
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
        name = head_name(row["layer"], row["head"])
        line = (name, number(row["value"], "cosine"), interval(row, "cosine"))
        if found is None:
            yield (*line, "nothing surely", "-", "-", "-")
            continue
        before, after = (values[weights, *_key(found)] for weights in ("base", "tuned"))
        analysis, *rest = (str(part) for part in _key(found)[:4] if part is not None)
        what = f"{analysis}: {' '.join(rest)}".replace("_", " ")
        values_said = (number(before, "share"), number(after, "share"))
        yield (*line, what, *values_said, number(found["value"], "points"))


def _key(row: Row) -> tuple[Any, ...]:
    """What a number is of."""
    names = ("analysis", "statistic", "group", "direction", "layer", "head")
    return tuple(row[name] for name in names)


def side_by_side(one: Results, corpus: str) -> Panel:
    """What comes from pre-training: the same statistics of all models, layer by layer."""
    models = one.record["study"]["models"]
    roles = {"base": f"{models['base']['name']} (base)", "tuned": "fine-tuned from it",
             "beside": f"{models['beside']['name']} (beside)"}  # fmt: skip
    charts: list[Chart] = []
    headlines = [
        (analysis["analysis"], statistic, group or None, text)
        for analysis in one.record["analyses"]
        for statistic in analysis["statistics"]
        for group, text in statistic["headlines"].items()
    ]
    for name, statistic, group, text in headlines:
        found = [
            row | {"series": roles[row["weights"]]}
            for row in rows_of(one.heads, corpus=corpus, analysis=name,
                               statistic=statistic["statistic"])
            if row["group"] == group and row["direction"] == statistic["direction"]
            and row["weights"] in roles and row["layer"] is not None
        ]  # fmt: skip
        heads = [row for row in found if row["head"] is not None]
        layers = [row for row in found if row["head"] is None]
        if layers and len(charts) < SIDE_BY_SIDE:
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
