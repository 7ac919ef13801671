"""Relevance: where the score goes, and whether other numbers tell the relevant heads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headscope._util.naming import SELF, head_name
from headscope.evidence import HEADS, Unit
from headscope.evidence.correlation import rank_correlation
from headscope.experiments.ablation.tables import ABLATION, gains, intact_score
from headscope.experiments.relevance.tables import score_parts
from headscope.report.charts import Chart, datum
from headscope.report.drawings import layer_parts, scatter
from headscope.report.sections import (
    HeadNumbers,
    Place,
    Section,
    analysis_section,
    card_lines,
    head_numbers,
    run_sections,
)
from headscope.report.small_plots import Interval
from headscope.report.views import CorpusView
from headscope.runs import RunResults

PARTS = ("heads", "residual", "biases", "epsilon")
"""Parts of the score, as `ScoreParts` calls them."""


@analysis_section("relevance")
def where_the_score_goes(view: CorpusView) -> Section | None:
    """Through the heads or past them, layer by layer."""
    layers = [one for one in score_parts(view.results) if one.attention == view.attention]
    if not layers:
        return None
    lost = max(parts.lost for parts in layers)
    names = PARTS if view.attention == SELF else (*PARTS, "elsewhere")
    bars = [
        {"layer": parts.layer, "part": part, "value": getattr(parts, part)}
        for parts in layers
        for part in names
    ]
    beside = ""
    if view.attention != SELF:
        other = "for the encoder" if view.attention != "encoder" else "in the decoder"
        beside = f" Elsewhere: what does not come by the layer, because it has gone {other}."
    widest = max(layers, key=lambda parts: abs(parts.heads))
    return Section(
        "Where the score goes",
        [
            "At every layer the score that the model gives to its prediction comes through the "
            "heads or past them, on the residual path; the rest is absorbed above, by biases and "
            f"by the stabiliser of the rule. The parts sum to the score, to {lost:.0e} of the "
            f"largest. A part may be negative, and others then exceed the score.{beside}"
        ],
        [
            Chart(
                "relevance-parts",
                "where the score goes",
                "Shares of the score, by layer.",
                layer_parts(list(names)),
                other={"parts": bars},
            )
        ],
        ("layer", *names),
        [
            (str(parts.layer), *(Unit.SHARE.number(getattr(parts, part)) for part in names))
            for parts in layers
        ],
        finding=(
            f"In L{widest.layer} most of the score comes through heads, "
            f"{Unit.SHARE.number(widest.heads)} of it"
        ),
        menu="Relevance",
    )


@head_numbers(30)
def relevances(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """The share of each head in the relevance of all heads."""
    for run in results:
        rows = run.rows(HEADS, analysis="relevance", statistic="share")
        rows = [row for row in rows if row.head is not None]
        if rows:
            task, even = run.record.study.about.name, rows[0].baseline or 0.0
            yield HeadNumbers(
                f"relevance ({task})",
                f"How much of the prediction on {task} comes through the head, of what comes "
                f"through all heads (LRP); the line is an even share, {Unit.SHARE.number(even)}.",
                task,
                Unit.SHARE,
                {
                    row.place: Interval(row.value, row.low, row.high, row.baseline, sure=row.sure)
                    for row in rows
                },
                line=even,
                worth={row.place: row.value for row in rows},
            )


@card_lines(50)
def relevance_lines(_view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """The share of each head in the relevance of all."""
    share = Unit.SHARE
    for run in results:
        for row in run.rows(HEADS, analysis="relevance", statistic="share"):
            if row.head is not None:
                yield (
                    row.place,
                    f"{share.number(row.value)} {row.interval(share)} of the relevance of all "
                    f"heads on {row.corpus} comes through it (were all alike: "
                    f"{share.number(row.baseline)})",
                )


@run_sections(120)
def relevance_and_others(results: list[RunResults]) -> Iterator[Section]:
    """Do confidence, importance and ablation tell the heads that are relevant?"""
    for run in results:
        for part in run.by_attention() if score_parts(run) else []:
            yield _comparison(part, [other.of(part.attention) for other in results])


def _comparison(run: RunResults, results: list[RunResults]) -> Section:
    relevant = _by_head(run, "relevance", "share")
    texts, charts = [], []
    for name, values in _other_numbers(run, results):
        places = [place for place in relevant if place in values]
        if len(places) < 3:
            continue
        x, y = (np.array([numbers[place] for place in places]) for numbers in (values, relevant))
        correlation = rank_correlation(x, y, [layer for layer, _ in places])
        result = "it is the same for all heads" if correlation is None else str(correlation)
        texts.append(f"Spearman's correlation of relevance with {name}: {result}.")
        charts.append(
            Chart(
                f"relevance-and-{name}".replace(" ", "-").replace("(", "").replace(")", ""),
                f"relevance and {name}",
                "A point is a head.",
                scatter("value", name, "relevance (share)"),
                [
                    datum(*place, values[place], run.attention, effect=relevant[place])
                    for place in places
                ],
            )
        )
    study = run.record.study
    title = f"What tells the relevant heads? {study.model.name} on {study.about.name}"
    most = max(relevant, key=lambda place: relevant[place])
    number = Unit.SHARE.number
    return Section(
        f"{title}{run.of_attention}",
        texts,
        charts,
        finding=(
            f"{number(relevant[most])} of the relevance of all heads comes through "
            f"{head_name(*most, run.attention)}, an even share would be {number(1 / len(relevant))}"
        ),
        menu=f"Relevance{run.of_attention}",
    )


def _other_numbers(
    run: RunResults, results: list[RunResults]
) -> Iterator[tuple[str, dict[Place, float]]]:
    """Other numbers of the heads, by name: of the same run, and of ablations of its model."""
    yield "confidence", _by_head(run, "confidence", "largest")
    yield "importance", _by_head(run, "importance", "importance")
    study = run.record.study
    for ablated in results:
        if ablated.has(ABLATION) and study.same_model_and_task(ablated.record.study):
            metric, how = intact_score(ablated).metric, ablated.record.study.options["how"]
            sizes = {place: abs(gain) for place, gain in gains(ablated).items()}
            yield f"the size of the effect on {metric} when off ({how})", sizes


def _by_head(run: RunResults, analysis: str, statistic: str) -> dict[Place, float]:
    rows = run.rows(HEADS, analysis=analysis, statistic=statistic)
    return {row.place: row.value for row in rows if row.head is not None}
