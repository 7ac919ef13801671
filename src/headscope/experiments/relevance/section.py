"""Relevance: what comes through each head, and whether other numbers say the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.evidence.correlation import rank_correlation
from headscope.experiments.ablation.section import effects, same_study
from headscope.report.charts import Chart, layer_parts, scatter
from headscope.report.numbers import number
from headscope.report.sections import Panel
from headscope.runs import Results, rows_of

if TYPE_CHECKING:
    from headscope.report.views import View

Row = dict[str, Any]
Place = tuple[int, int]
PARTS = ("heads", "residual", "biases", "epsilon")


def panel(view: View) -> Panel | None:
    """What became of the score in every layer."""
    counted = view.results.record.get("counted")
    if not counted:
        return None
    lost = max(row["lost"] for row in counted)
    return Panel(
        "Where the score goes",
        [
            "At every layer the score that the model gives to what it predicts comes through its "
            "heads or past them, on the residual path; the rest is absorbed above by biases and by "
            f"the stabiliser of the rule. All parts together are the score, to {lost:.0e} of the "
            "largest. Parts may be negative, and above the score where others are below 0."
        ],
        [
            Chart("relevance-parts", "where the score goes", "Shares of the score, by layer.",
                  layer_parts(list(PARTS)),
                  other={"parts": [
                      {"layer": row["layer"], "part": part, "value": row[part]}
                      for row in counted for part in PARTS
                  ]}),
        ],
        ("layer", *PARTS),
        [
            (str(row["layer"]), *(number(row[part], "share") for part in PARTS)) for row in counted
        ],
    )  # fmt: skip


def relevance_and_others(results: list[Results]) -> Iterator[Panel]:
    """Do confidence, importance and ablation tell the heads that are relevant?"""
    for one in results:
        if "counted" in one.record:
            yield from _together(one, results)


def _together(one: Results, results: list[Results]) -> Iterator[Panel]:
    study = one.record["study"]
    relevant = _values(one, "relevance", "share")
    others: dict[str, dict[Place, float]] = {
        "confidence": _values(one, "confidence", "largest"),
        "importance": _values(one, "importance", "importance"),
    }
    for other in results:
        if other.ablation.num_rows and same_study(one, other):
            metric = other.record["intact"][0]["metric"]
            lost = {place: abs(value) for place, value in effects(other).items()}
            how = other.record["study"]["options"]["how"]
            others[f"the size of the effect on {metric} when off ({how})"] = lost
    texts, charts = [], []
    for name, values in others.items():
        places = [place for place in relevant if place in values]
        if len(places) < 3:
            continue
        pair = (np.array([table[place] for place in places]) for table in (values, relevant))
        found = rank_correlation(*pair)
        said = "is the same for all heads" if found is None else str(found)
        texts.append(f"Spearman's correlation of relevance with {name}: {said}.")
        points = [
            {"layer": layer, "head": head, "value": values[layer, head],
             "effect": relevant[layer, head]}
            for layer, head in places
        ]  # fmt: skip
        slug = f"relevance-and-{name}".replace(" ", "-").replace("(", "").replace(")", "")
        charts.append(
            Chart(slug, f"relevance and {name}", "A point is a head.",
                  scatter("value", name, "relevance (share)"), points)
        )  # fmt: skip
    title = f"{study['model']['name']} on {study['task']['name']}"
    yield Panel(f"What tells the relevant heads? {title}", texts, charts)


def _values(one: Results, analysis: str, statistic: str) -> dict[Place, float]:
    rows = rows_of(one.heads, analysis=analysis, statistic=statistic)
    return {(row["layer"], row["head"]): row["value"] for row in rows if row["head"] is not None}
