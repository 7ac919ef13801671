"""The panels of some runs: experiments, and pairs of them that belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headscope.analyses._shapes.section import across
from headscope.analyses._special_tokens.resting import resting
from headscope.evidence.correlation import rank_correlation
from headscope.experiments.ablation.section import ablation, effects
from headscope.experiments.compare.section import change
from headscope.experiments.gates.section import gates, roles_that_stay
from headscope.experiments.importance.section import importance_and_effect
from headscope.experiments.probe.section import use_and_accuracy
from headscope.experiments.pruning.section import pruning
from headscope.experiments.relevance.section import relevance_and_others
from headscope.report.charts import Chart, gain_of, scatter
from headscope.report.sections import Panel
from headscope.report.views import views
from headscope.runs import Results, rows_of

Floats = NDArray[np.float64]
UNCHANGED = 1e-6
"""Cosines that differ by less differ by rounding."""


def panels(results: list[Results]) -> list[Panel]:
    """The panels of some runs, and of those that belong together."""
    alone = (pruning, gates, ablation, change)
    made = [panel for one in results for kind in alone for panel in kind(one)]
    together = (
        change_and_effect, importance_and_effect, relevance_and_others, roles_that_stay,
        use_and_accuracy, resting,
    )  # fmt: skip
    made += [panel for kind in together for panel in kind(results)]
    return [*made, *across(views(results))]


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
    metric, felt = ablated.record["intact"][0]["metric"], effects(ablated)
    for corpus in dict.fromkeys(row["corpus"] for row in compared.record["corpora"]):
        points = [
            row | {"change": 1 - row["value"], "effect": felt[row["layer"], row["head"]]}
            for row in rows_of(compared.heads, analysis="change", corpus=corpus)
            if row["head"] is not None and (row["layer"], row["head"]) in felt
        ]
        if len(points) < 3:
            continue
        one, other = (np.array([row[key] for row in points]) for key in ("change", "effect"))
        name = ablated.record["study"]["model"]["name"]
        yield Panel(
            f"Do the heads that changed most matter most? {name}",
            [
                f"Across: how much a head's maps changed ({corpus}); up: what {metric} "
                "gains when it is off.",
                _correlated(one, np.abs(other)),
            ],
            [Chart("change-and-effect", "change and effect", "A point is a head.",
                   scatter("change", "change (1 - cosine)", gain_of(metric)), points)],
        )  # fmt: skip


def _correlated(changes: Floats, effects: Floats) -> str:
    """Whether change and effect go together, in words."""
    found = None if np.ptp(changes) < UNCHANGED else rank_correlation(changes, effects)
    if found is None:
        return "All heads changed alike, or none matters: nothing can be said."
    if found.low <= 0 <= found.high:
        said = "Its interval includes 0: the data do not show that they do."
    else:
        said = f"The heads that changed more matter {'more' if found.value > 0 else 'less'}."
    return f"Spearman's correlation of change with the size of the effect: {found}. {said}"
