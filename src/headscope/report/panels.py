"""The panels of some runs: experiments, and pairs of them that belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.report.changed import change
from headscope.report.charts import Chart, scatter
from headscope.report.off import ablation, gained
from headscope.report.panel import Panel
from headscope.report.patterns import across
from headscope.report.resting import resting
from headscope.report.views import views
from headscope.runs import Results, rows_of

Floats = NDArray[np.float64]


def panels(results: list[Results]) -> list[Panel]:
    """The panels of some runs, and of those that belong together."""
    made = [panel for one in results for panel in (*ablation(one), *change(one))]
    return [*made, *change_and_effect(results), *resting(results), *across(views(results))]


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
