"""Importance: the heads that a loss feels, and whether switching them off agrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope._util.naming import head_name
from headscope.evidence.correlation import Correlation, rank_correlation
from headscope.experiments.ablation.section import effects, same_study
from headscope.report.charts import Chart, gain_of, scatter
from headscope.report.numbers import interval, number
from headscope.report.sections import SHOWN, Panel
from headscope.runs import Results

if TYPE_CHECKING:
    from headscope.report.views import View

Row = dict[str, Any]
UNIT = "gradient"


def panel(view: View) -> Panel | None:
    """The ranking of heads by importance."""
    rows = sorted(view.results.importance.to_pylist(), key=lambda row: row["rank"])
    if not rows:
        return None
    record = view.results.record
    by = "their share of their layer" if record["study"]["options"]["normalise"] else "importance"
    text = (
        f"Heads are ranked by {by}. How stable that is: the rankings of two random halves of the "
        f"{rows[0]['n']:,} examples have a Spearman correlation of {record['stability']:.2f} on "
        "average. It is a cheap number, from gradients; how far it agrees with heads really "
        "switched off is shown where an ablation is reported with it."
    )
    shown = rows if len(rows) <= 2 * SHOWN else rows[:SHOWN] + rows[-SHOWN:]
    return Panel(
        "Importance", [text], [],
        ("head", "rank", "95% of ranks", "importance", "95% interval", "normalised"),
        [
            (head_name(row["layer"], row["head"]), str(row["rank"]),
             f"{row['rank_low']} to {row['rank_high']}", number(row["value"], UNIT),
             interval(row, UNIT), f"{row['normalised']:.2f}")
            for row in shown
        ],
    )  # fmt: skip


def importance_and_effect(results: list[Results]) -> Iterator[Panel]:
    """Does importance tell what is lost without a head? For runs of one model on one task."""
    for felt in results:
        for ablated in results:
            if felt.importance.num_rows and ablated.ablation.num_rows and same_study(felt, ablated):
                yield from _together(felt, ablated)


def _together(felt: Results, ablated: Results) -> Iterator[Panel]:
    metric, lost = ablated.record["intact"][0]["metric"], effects(ablated)
    points = [
        row | {"effect": lost[row["layer"], row["head"]]}
        for row in felt.importance.to_pylist()
        if (row["layer"], row["head"]) in lost
    ]
    if len(points) < 3:
        return
    study = ablated.record["study"]
    one, other = (np.array([row[key] for row in points]) for key in ("value", "effect"))
    how = study["options"]["how"]
    yield Panel(
        f"Does importance tell what is lost? {study['model']['name']} on {study['task']['name']}",
        [
            f"Across: importance (a gradient); up: what {metric} really gains when the head is "
            f"off ({how}).",
            _said(f"the size of the effect on {metric}", rank_correlation(one, abs(other)),
                  ("matter more, one way or the other", "matter less")),
            _said(f"what {metric} loses without the head", rank_correlation(one, -other),
                  ("are missed more", "are missed less: the task does better without them")),
        ],
        [Chart("importance-and-effect", "importance and effect", "A point is a head.",
               scatter("value", "importance", gain_of(metric)), points)],
    )  # fmt: skip


def _said(what: str, found: Correlation | None, so: tuple[str, str]) -> str:
    """How far importance goes together with something, in words."""
    if found is None:
        return f"Importance or {what} is the same for all heads: nothing can be said."
    if found.low <= 0 <= found.high:
        said = "Its interval includes 0: here importance does not tell."
    else:
        said = f"Heads that are more important {so[found.value < 0]}."
    return f"Spearman's correlation of importance with {what}: {found}. {said}"
