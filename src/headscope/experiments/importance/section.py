"""Importance: the ranking of heads, and whether switching them off agrees with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headscope._util.naming import head_name
from headscope.evidence import Unit
from headscope.evidence.correlation import Correlation, rank_correlation
from headscope.experiments.ablation.tables import ABLATION, gains, intact_score
from headscope.experiments.importance.tables import IMPORTANCE, ImportanceSummary
from headscope.report.charts import Chart, datum
from headscope.report.drawings import gain_of, scatter
from headscope.report.sections import (
    SHOWN,
    Cell,
    HeadNumbers,
    NextStep,
    Place,
    Section,
    analysis_section,
    card_lines,
    head_numbers,
    next_steps,
    run_sections,
)
from headscope.report.small_plots import Interval
from headscope.report.views import CorpusView
from headscope.runs import RunResults


@analysis_section("importance")
def ranking(view: CorpusView) -> Section | None:
    """The ranking of heads by importance."""
    rows = sorted(view.results.rows(IMPORTANCE), key=lambda row: row.rank)
    if not rows:
        return None
    record = view.results.record
    by = "their share of their layer" if record.study.options["normalise"] else "importance"
    stability = record.summary_as(ImportanceSummary).stability
    text = (
        f"Heads are ranked by {by}. How stable that is: the rankings of two random halves of the "
        f"{rows[0].n:,} examples have a Spearman correlation of {stability:.2f} on average. It is "
        "a cheap number, from gradients; how far it agrees with heads really switched off is "
        "shown where an ablation is reported with it."
    )
    shown = rows if len(rows) <= 2 * SHOWN else rows[:SHOWN] + rows[-SHOWN:]
    lines: list[tuple[Cell | str, ...]] = []
    for row in shown:
        name = head_name(row.layer, row.head, row.attention)
        lines.append(
            (
                Cell(name, head=name),
                str(row.rank),
                f"{row.rank_low} to {row.rank_high}",
                Unit.GRADIENT.number(row.value),
                Unit.GRADIENT.interval(row.low, row.high),
                f"{row.normalised:.2f}",
            )
        )
    columns = ("head", "rank", "95% of ranks", "importance", "95% interval", "normalised")
    finding = f"{lines[0][0]} is the most important head, by gradients on {rows[0].task}"
    return Section("Importance", [text], [], columns, lines, finding=finding)


@head_numbers(20)
def importances(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """The sensitivity of each task's loss to each head."""
    for run in results:
        rows = run.rows(IMPORTANCE)
        if rows:
            task = rows[0].task
            yield HeadNumbers(
                f"importance ({task})",
                f"Sensitivity of the loss on {task} to each head, from gradients (Michel et al. "
                "2019); a filled dot is not a test.",
                task,
                Unit.GRADIENT,
                {(row.layer, row.head): Interval(row.value, row.low, row.high) for row in rows},
                worth={(row.layer, row.head): float(-row.rank) for row in rows},
            )


@next_steps(30)
def after_importance(results: list[RunResults]) -> Iterator[NextStep]:
    """Importance is cheap; whether it tells what is lost takes an ablation."""
    ablated = [run.record.study for run in results if run.has(ABLATION)]
    for run in results:
        if not run.has(IMPORTANCE):
            continue
        if not any(run.record.study.same_model_and_task(study) for study in ablated):
            model, task = run.record.study.model.name, run.record.study.about.name
            yield NextStep(
                "Importance is a gradient: whether the task really misses these heads is told by "
                "switching them off.",
                f"headscope ablate {model} {task} -o ablation",
            )


@card_lines(40)
def ranks(view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """The rank of each head."""
    for run in results:
        rows = run.rows(IMPORTANCE)
        for row in rows:
            text = (
                f"by importance on {row.task} it is number {row.rank} of {len(rows)} (95%: "
                f"{row.rank_low} to {row.rank_high})"
            )
            yield (row.layer, row.head), text


@run_sections(110)
def importance_and_effect(results: list[RunResults]) -> Iterator[Section]:
    """Does importance tell what is lost without a head? For runs of one model on one task."""
    for measured in results:
        for ablated in results:
            both = measured.has(IMPORTANCE) and ablated.has(ABLATION)
            if both and measured.record.study.same_model_and_task(ablated.record.study):
                for part in measured.by_attention():
                    yield from _joined(part, ablated.of(part.attention))


def _joined(measured: RunResults, ablated: RunResults) -> Iterator[Section]:
    metric, gained = intact_score(ablated).metric, gains(ablated)
    rows = [row for row in measured.rows(IMPORTANCE) if (row.layer, row.head) in gained]
    if len(rows) < 3:
        return
    study = ablated.record.study
    values = np.array([row.value for row in rows])
    effects = np.array([gained[row.layer, row.head] for row in rows])
    layers = [row.layer for row in rows]
    points = [
        datum(row.layer, row.head, row.value, row.attention, effect=gained[row.layer, row.head])
        for row in rows
    ]
    lost = rank_correlation(values, -effects, layers)
    yield Section(
        f"Does importance tell what is lost? {study.model.name} on {study.about.name}"
        f"{measured.of_attention}",
        [
            f"Across: importance (a gradient); up: what {metric} really gains when the head is "
            f"off ({study.options['how']}).",
            _agreement(
                f"the size of the effect on {metric}",
                rank_correlation(values, abs(effects), layers),
                ("matter more, one way or the other", "matter less"),
            ),
            _agreement(
                f"what {metric} loses without the head",
                lost,
                ("are missed more", "are missed less: the task does better without them"),
            ),
        ],
        [
            Chart(
                "importance-and-effect",
                "importance and effect",
                "A point is a head.",
                scatter("value", "importance", gain_of(metric)),
                points,
            )
        ],
        finding=_told(lost, metric),
        menu="Importance and effect",
    )


def _told(lost: Correlation | None, metric: str) -> str:
    """Whether importance tells which heads are missed."""
    if lost is None or not lost.sure:
        return f"Importance does not tell without which heads {metric} falls, as far as can be seen"
    more = "more" if lost.value > 0 else "less"
    return f"Heads that are more important are missed {more} when they are off"


def _agreement(what: str, correlation: Correlation | None, meanings: tuple[str, str]) -> str:
    """How far importance goes together with something, in words."""
    if correlation is None:
        return f"Importance or {what} is the same for all heads: nothing can be said."
    if not correlation.sure:
        meaning = "Here importance is not shown to tell."
    else:
        meaning = f"Heads that are more important {meanings[correlation.value < 0]}."
    return f"Spearman's correlation of importance with {what}: {correlation}. {meaning}"
