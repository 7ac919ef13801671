"""Pruning: what a task loses as heads go, which criterion is best, what was made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import altair as alt
import numpy as np

from headscope._util.naming import head_name
from headscope.evidence import Unit
from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import PRUNING, TEST, PruningRow
from headscope.experiments.pruning.remarks import as_good_at_random
from headscope.experiments.pruning.tables import (
    CERTIFICATION,
    REMOVALS,
    PruningSummary,
    limit_in_words,
)
from headscope.report.charts import Chart
from headscope.report.drawings import COLOURS, Drawing
from headscope.report.sections import (
    HeadNumbers,
    NextStep,
    Place,
    Section,
    card_lines,
    head_numbers,
    next_steps,
    run_sections,
    summary_lines,
)
from headscope.report.small_plots import Curve, Interval
from headscope.report.views import CorpusView
from headscope.runs import RunResults, Study

RANK = Unit("rank", "rank", format=".0f")
INKS = {"importance": COLOURS[0], "ablation": COLOURS[1], "gates": COLOURS[2], "random": "#777777"}
"""One colour a criterion; where it is computed again after some removals it has another."""
CAPTION = (
    "Across: heads kept; up: the metric on data that had no part in choosing them, with 95% "
    "intervals of the paired difference; for random orders, the mean and the range of several."
)


@dataclass(frozen=True)
class CurvePoint:
    """The metric with some heads kept, and its interval, or its range over random orders."""

    method: str
    kept: int
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@run_sections(10)
def pruning_sections(results: list[RunResults]) -> Iterator[Section]:
    """The curves of the task's first metric, and the model that was made."""
    for run in results:
        if run.has(REMOVALS):
            yield _pruning_section(run)


def _pruning_section(run: RunResults) -> Section:
    summary, study = run.record.summary_as(PruningSummary), run.record.study
    intact, pruned = summary.intact[0], summary.pruned
    rows = run.rows(PRUNING, metric=intact.metric, part=TEST)
    methods = tuple(dict.fromkeys(row.method for row in rows))
    points = [
        point
        for method in methods
        for point in _curve(method, [row for row in rows if row.method == method], intact)
    ]
    guessing = "" if intact.nothing is None else " Dashed: always guessing the commonest class."
    return Section(
        f"Pruning: {study.model.name} for {study.about.name}",
        [summary.claim, *_text(summary, study)],
        [
            Chart(
                f"pruning-{intact.metric}",
                f"{intact.metric} as heads go",
                CAPTION + guessing,
                _drawing(intact, list(methods)),
                other={"curves": [asdict(point) for point in points]},
            )
        ],
        ("heads kept", *methods),
        _lines(points, methods),
        below=list(_certification(run, summary)),
        finding=_finding(summary),
        glance=_glance(summary, points, intact),
        menu="Pruning",
        count=f"{pruned.kept} of {pruned.heads}",
    )


def _finding(summary: PruningSummary) -> str:
    """What was removed at what price, and whether it is too much, or no better than chance."""
    pruned, intact = summary.pruned, summary.intact[0]
    gone, change, unit = pruned.heads - pruned.kept, pruned.test[0], intact.difference_unit
    if gone == 0 and summary.promise is not None:
        return (
            f"No head is removed: {summary.promise.examples:,} examples cannot vouch for a loss of "
            f"at most {limit_in_words(summary.promise.max_drop, intact)}"
        )
    moved = f"{unit.number(change.delta)} {unit.interval(change.low, change.high)}"
    said = f"Without {gone} of {pruned.heads} heads {intact.metric} changes by {moved}"
    if summary.promise is not None:
        limit = limit_in_words(summary.promise.max_drop, intact)
        beyond = -change.delta * intact.better > summary.promise.max_drop
        said += f", more than the {limit} that are allowed" if beyond else ""
    if not pruned.random:
        return said
    if as_good_at_random(change, intact, pruned.random):
        return f"{said}: no better than removing as many at random"
    return f"{said}, less than removing as many at random costs"


def _glance(summary: PruningSummary, points: list[CurvePoint], intact: Score) -> Curve:
    """The metric along the order, with the model that was made, wherever that lies on it."""
    pruned, made = summary.pruned, summary.pruned.test[0]
    ends = (intact.value + made.low, intact.value + made.high)
    own = {
        point.kept: (point.kept, point.value, point.low, point.high)
        for point in points
        if point.method == pruned.method
    }
    own.setdefault(pruned.kept, (pruned.kept, made.value, *ends))
    return Curve(
        sorted(own.values(), reverse=True),
        intact.value,
        pruned.kept,
        "heads kept",
        intact.unit.number,
    )


def _text(summary: PruningSummary, study: Study) -> Iterator[str]:
    pruned, sizes = summary.pruned, summary.sizes
    before, after = pruned.parameters
    exact = f"to {pruned.difference:.0e} of the largest" if pruned.difference else "to the last bit"
    yield (
        f"Heads were chosen on {sizes.choice:,} examples and evaluated on {sizes.test:,} others. "
        f"{before:,} parameters before, {after:,} after ({after / before:.1%}). The pruned model's "
        f"outputs are those of the intact one with the same heads off, {exact}."
    )
    if study.options["step"] is not None:
        yield f"Heads were scored again after every {study.options['step']} removals."


def _certification(run: RunResults, summary: PruningSummary) -> Iterator[Section]:
    """The tests of how many heads may go, where a loss is promised."""
    promise, intact = summary.promise, summary.intact[0]
    if promise is None:
        return
    unit, limit = intact.difference_unit, limit_in_words(promise.max_drop, intact)
    rows = [
        (
            str(row.removed),
            unit.number(-row.loss * intact.better),
            f"{row.p:.2g}",
            "yes" if row.accepted else "no",
        )
        for row in run.rows(CERTIFICATION)
    ]
    yield Section(
        "How many heads may go",
        [
            f"Growing numbers of heads were tested in turn on {promise.examples:,} examples that "
            "had no part in choosing the order, each with a one-sided paired test of the null "
            f"hypothesis that more than {limit} of {intact.metric} are lost, until the first that "
            f"is not rejected at the level {1 - promise.confidence:.2g} (fixed sequence testing, "
            "Angelopoulos et al. 2021). The change in this table was used to choose and is "
            "optimistic; the one above was not."
        ],
        columns=("heads removed", f"change of {intact.metric}", "p", "accepted"),
        rows=rows,
    )


def _curve(method: str, rows: list[PruningRow], intact: Score) -> Iterator[CurvePoint]:
    """The points of one method, the intact model first."""
    whole = intact.value
    yield CurvePoint(method, rows[0].heads, whole, whole, whole)
    for kept in sorted({row.kept for row in rows}, reverse=True):
        draws = [row for row in rows if row.kept == kept]
        values = [row.value for row in draws]
        low, high = whole + draws[0].low, whole + draws[0].high
        if len(draws) > 1:
            low, high = min(values), max(values)
        yield CurvePoint(method, kept, float(np.mean(values)), low, high)


def _lines(points: list[CurvePoint], methods: tuple[str, ...]) -> list[tuple[str, ...]]:
    by_place = {(point.method, point.kept): point for point in points}
    return [
        (str(kept), *(str(by_place[method, kept]) for method in methods))
        for kept in sorted({point.kept for point in points}, reverse=True)
    ]


def _drawing(intact: Score, methods: list[str]) -> Drawing:
    inks = [INKS.get(method, COLOURS[3]) for method in methods]
    base = alt.Chart(alt.NamedData(name="curves")).encode(
        x=alt.X("kept:Q", title="heads kept", scale=alt.Scale(reverse=True, nice=False)),
        color=alt.Color(
            "method:N",
            title="chosen by",
            sort=methods,
            scale=alt.Scale(domain=methods, range=inks),
            legend=alt.Legend(symbolOpacity=1),
        ),
    )
    y = alt.Y("value:Q", title=intact.metric, scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("method:N", title="chosen by"),
        alt.Tooltip("kept:Q", title="heads kept"),
        alt.Tooltip("value:Q", title=intact.metric, format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]
    layers = [
        base.mark_area(opacity=0.13).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line().encode(y=y),
        base.mark_circle(size=45).encode(y=y, tooltip=tooltip),
    ]
    if intact.nothing is not None:
        floor = alt.Chart(alt.Data(values=[{"value": intact.nothing}]))
        layers.append(floor.mark_rule(strokeDash=[4, 3], color="#777").encode(y="value:Q"))
    drawing: Drawing = alt.layer(*layers).properties(width=420, height=280)
    return drawing


@head_numbers(40)
def order_of_removal(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """When each head would go: the later, the more it matters by the criterion."""
    for run in results:
        if not run.has(REMOVALS):
            continue
        pruned, task = run.record.summary_as(PruningSummary).pruned, run.record.study.about.name
        ranks = {
            (row.layer, row.head): pruned.heads - row.place
            for row in run.rows(REMOVALS, method=pruned.method)
        }
        yield HeadNumbers(
            f"rank in pruning ({task})",
            f"Rank by {pruned.method}: 1 would be removed last; filled: among the "
            f"{pruned.heads - pruned.kept} heads that were removed.",
            task,
            RANK,
            {
                head: Interval(rank, None, None, sure=rank > pruned.kept)
                for head, rank in ranks.items()
            },
            line=float(pruned.kept),
            worth={head: -float(rank) for head, rank in ranks.items()},
            removed=frozenset(head for head, rank in ranks.items() if rank > pruned.kept),
        )


@next_steps(20)
def after_pruning(results: list[RunResults]) -> Iterator[NextStep]:
    """A smaller model, where none was made; otherwise what to do with it."""
    pruned = [run for run in results if run.has(REMOVALS)]
    for run in pruned:
        study = run.record.study
        name, made = study.model.name, run.record.summary_as(PruningSummary).pruned
        yield NextStep(
            f"{made.kept} of {made.heads} heads were kept; how the smaller model compares with the "
            "one it was made from, head by head:",
            f"headscope compare {name} PRUNED-FOLDER DATA -o compare",
        )
    for run in [] if pruned else results:
        if run.record.study.experiment in ("ablation", "importance"):
            model, task = run.record.study.model.name, run.record.study.about.name
            yield NextStep(
                "A model without the heads that this task does not need:",
                f"headscope prune {model} {task} --max-drop 1% -o smaller",
            )


@card_lines(70)
def removal_lines(view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """When each head would go, and whether it went."""
    for run in results:
        if not run.has(REMOVALS):
            continue
        pruned, task = run.record.summary_as(PruningSummary).pruned, run.record.study.about.name
        for row in run.rows(REMOVALS, method=pruned.method):
            gone = head_name(row.layer, row.head, row.attention) in pruned.removed
            yield (
                (row.layer, row.head),
                f"for {task} it would go as number {row.place + 1} of {pruned.heads} by "
                f"{pruned.method}; with {pruned.kept} kept it {'is removed' if gone else 'stays'}",
            )


@summary_lines(20)
def price_lines(view: CorpusView, results: list[RunResults]) -> Iterator[str]:
    """What can go at what price, where the model was pruned, beside what its heads do."""
    for run in results if view.roles else []:
        if run.has(REMOVALS):
            claim = run.record.summary_as(PruningSummary).claim
            yield f"What can go, for {run.record.study.about.name}: {claim}"
