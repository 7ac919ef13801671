"""Heads off: what a task loses or gains, with the paper's figures and how to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from headscope.evidence.metrics import Score
from headscope.experiments.ablation.tables import (
    ABLATION,
    AblationRow,
    AblationSummary,
    intact_score,
)
from headscope.report.charts import Chart, datum, head_map
from headscope.report.drawings import Datum, layer_bars
from headscope.report.sections import (
    SHOWN,
    Cell,
    HeadNumbers,
    NextStep,
    Place,
    Section,
    card_lines,
    head_numbers,
    next_steps,
    run_sections,
)
from headscope.report.small_plots import Interval, Strip
from headscope.report.views import CorpusView
from headscope.runs import RunResults, Study

VERDICTS = {
    "helps": ("helps", "help"),
    "hurts": ("hurts", "hurt"),
    "nothing": ("does nothing", "do nothing"),
    "unclear": ("is unclear", "are unclear"),
}
"""Verdicts in words, of one head and of several."""
OFF = {
    "uniform": "attends alike to all tokens that it may see",
    "zero": "gives nothing",
    "mean": "gives its mean output",
}
"""What a head does that is off."""


@run_sections(30)
def heads_off(results: list[RunResults]) -> Iterator[Section]:
    """What a task loses or gains when heads and layers are off, metric by metric."""
    for run in results:
        if run.has(ABLATION):
            summary = run.record.summary_as(AblationSummary)
            sets = bool(run.rows(ABLATION, unit="set"))
            for part in [run] if sets else run.by_attention():
                for intact in summary.intact:
                    yield _metric_section(part, summary, intact)


def _metric_section(run: RunResults, summary: AblationSummary, intact: Score) -> Section:
    metric, study = intact.metric, run.record.study
    rows = run.rows(ABLATION, metric=metric)
    heads, layers, sets = ([row for row in rows if row.unit == kind] for kind in UNITS)
    unit = intact.difference_unit
    charts = []
    if heads:
        data = [_gain(row, intact) for row in heads]
        charts.append(
            head_map(
                f"ablation-{metric}-heads",
                f"{metric} with one head off",
                "How much the task gains (blue) or loses (orange) when a head is off; white: "
                "nothing changes; colours follow the square root, so that small differences are "
                "seen. Pale: cannot be told from no change.",
                data,
                unit,
            )
        )
    if layers:
        charts.append(
            Chart(
                f"ablation-{metric}-layers",
                f"{metric} with all heads of a layer off",
                "Bars: the gain or loss; lines: 95% intervals of the paired difference. A line "
                "that crosses 0 may be chance.",
                layer_bars(unit),
                layers=[_gain(row, intact) for row in layers],
            )
        )
    return Section(
        f"Heads off: {study.model.name} on {study.about.name}, {metric}{run.of_attention}",
        list(_text(study, summary, intact, heads or sets)),
        charts,
        ("off", metric, "difference", "95% interval", "q", "changed", "verdict"),
        [_line(row, intact, summary) for row in _extremes(heads, intact) + layers + sets],
        finding=_finding(heads, layers, sets, intact, study),
        glance=_strip(heads or layers or sets, intact),
        menu=f"Off: {metric}{run.of_attention}",
        count=_count(heads),
    )


def _count(heads: list[AblationRow]) -> str:
    told = sum(row.verdict in TOLD for row in heads)
    return f"{told} of {len(heads)}" if heads else ""


def _finding(
    heads: list[AblationRow],
    layers: list[AblationRow],
    sets: list[AblationRow],
    intact: Score,
    study: Study,
) -> str:
    """Which heads are missed, and without which the task does better, for sure."""
    rows = heads or layers or sets
    kind = rows[0].unit
    helps = sorted((row for row in rows if row.verdict == "helps"), key=_gain_of(intact))
    hurts = sorted((row for row in rows if row.verdict == "hurts"), key=_gain_of(intact))[::-1]
    task = study.about.name
    if not helps and not hurts:
        whole = [row.name for row in layers if heads and row.verdict == "helps"]
        and_layers = f", of layers {_named(whole)}" if whole else ""
        return f"No single {kind} is surely missed on {task}{and_layers}"
    parts = []
    if helps:
        only = "only " if len(helps) == 1 and len(rows) > 1 else ""
        be = "is" if len(helps) == 1 else "are"
        parts.append(f"{only}{_named([row.name for row in helps])} {be} missed")
    if hurts:
        parts.append(f"without {_named([row.name for row in hurts])} it does better")
    return f"Switched off one at a time, {'; '.join(parts)}"


def _named(names: list[str]) -> str:
    """Some names in words.

    >>> _named(["L0", "L1", "L2", "L3", "L4"])
    'L0, L1, L2 and 2 more'
    """
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _gain_of(intact: Score) -> Callable[[AblationRow], float]:
    return lambda row: row.gain(intact.better)


def _interval(row: AblationRow) -> Interval:
    return Interval(row.delta, row.low, row.high, 0.0, sure=row.verdict in TOLD)


def _strip(rows: list[AblationRow], intact: Score) -> Strip:
    return Strip([_interval(row) for row in rows], "all on", intact.difference_unit.number)


UNITS = ("head", "layer", "set")
TOLD = ("helps", "hurts")
"""Verdicts that say that something has an effect."""
NAMED = 3
"""Heads that a sentence names."""


def _gain(row: AblationRow, intact: Score) -> Datum:
    """The data of a chart: the gain by having something off, more is better."""
    low, high = sorted((intact.better * row.low, intact.better * row.high))
    gain = row.gain(intact.better)
    place = (row.layer, row.head, gain, row.attention)
    return datum(*place, low=low, high=high, baseline=0.0, n=row.n, sure=row.verdict in TOLD)


def _text(
    study: Study, summary: AblationSummary, intact: Score, rows: list[AblationRow]
) -> Iterator[str]:
    number = intact.unit.number
    guessing = ""
    if intact.nothing is not None:
        guessing = f"; always guessing the commonest class would have {number(intact.nothing)}"
    yield (
        f"The intact model has {intact.metric} {number(intact.value)} [{number(intact.low)}, "
        f"{number(intact.high)}] on {summary.examples:,} examples{guessing}. A head that is off "
        f"{OFF[study.options['how']]}."
    )
    yield (
        "Differences are paired, q is corrected over all heads; changed: of how many examples the "
        f"prediction differs. Listed are the {SHOWN} heads that are missed most and the {SHOWN} "
        "that one is better off without, then layers; the map has every head."
    )
    budget = study.options["budget"]
    sure = "both corrected"
    if budget:
        sure = (
            f"each wrong for at most {100 * budget['error']:g}% of heads, not corrected over them"
        )
        yield (
            f"A head was tried until its verdict was decided, by one of {budget['looks']} looks at "
            "growing data; p and q allow for all of them."
        )
    counts = Counter(row.verdict for row in rows)
    parts = [
        f"{counts[key]} {one if counts[key] == 1 else many}"
        for key, (one, many) in VERDICTS.items()
        if counts[key]
    ]
    margin = intact.difference_unit.number(summary.margin).lstrip("+")
    yield (
        f"Of {len(rows)} {rows[0].unit}s, {', '.join(parts)}. Helps: the task is worse without "
        f"it; hurts: it is better without it ({sure}); nothing: the interval lies within "
        f"{margin} of 0; unclear: the data cannot say."
    )
    if intact == summary.intact[0]:  # warnings are about the metric that verdicts are about
        yield from (f"Note: {warning}." for warning in summary.warnings)


def _extremes(rows: list[AblationRow], intact: Score) -> list[AblationRow]:
    """The heads whose loss costs most and those one is better off without."""
    ranked = sorted(rows, key=lambda row: row.gain(intact.better))
    return ranked if len(ranked) <= 2 * SHOWN else ranked[:SHOWN] + ranked[-SHOWN:]


def _line(row: AblationRow, intact: Score, summary: AblationSummary) -> tuple[Cell | str, ...]:
    unit = intact.difference_unit
    whole = row.n == summary.examples
    return (
        Cell(row.name, head=row.name if row.unit == "head" else None),
        intact.unit.number(row.value),
        Cell(unit.number(row.delta), strong=row.verdict in TOLD),
        unit.interval(row.low, row.high),
        "<0.001" if row.q < 0.001 else f"{row.q:.3f}",
        f"{row.changed:,}" if whole else f"{row.changed:,} of {row.n:,}",
        row.verdict,
    )


@head_numbers(10)
def effects(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """How the metrics of each task change when a head is off."""
    for run in results:
        if not run.has(ABLATION):
            continue
        task, how = run.record.study.about.name, OFF[run.record.study.options["how"]]
        for intact in run.record.summary_as(AblationSummary).intact:
            rows = {
                (row.layer, row.head): row
                for row in run.rows(ABLATION, metric=intact.metric, unit="head")
                if row.layer is not None and row.head is not None
            }
            if rows:
                yield HeadNumbers(
                    f"{intact.metric} when off ({task})",
                    f"How {intact.metric} on {task} changes when the head {how}; filled: a paired "
                    "test says that it does, after correction.",
                    task,
                    intact.difference_unit,
                    {place: _interval(row) for place, row in rows.items()},
                    worth={place: -row.gain(intact.better) for place, row in rows.items()},
                    tested=True,
                )


@next_steps(10)
def after_switching_off(results: list[RunResults]) -> Iterator[NextStep]:
    """An ablation, where there is none; a smaller model, where heads can go."""
    ablated = {run.record.study.model.sha256 for run in results if run.has(ABLATION)}
    for run in results:
        model = run.record.study.model
        if run.record.study.experiment == "scan" and model.sha256 not in ablated:
            yield NextStep(
                f"Does a task of yours miss any head of {model.name} that is off?",
                f"headscope ablate {model.name} TASK -o ablation",
            )
    for run in results:
        if run.has(ABLATION):
            intact = intact_score(run)
            rows = run.rows(ABLATION, metric=intact.metric, unit="head")
            unclear = sum(row.verdict == "unclear" for row in rows)
            n = run.record.summary_as(AblationSummary).examples
            if rows and unclear > len(rows) / 2:
                yield NextStep(
                    f"{n:,} examples cannot tell for {unclear} of {len(rows)} heads whether they "
                    "matter; a larger test set of yours could.",
                    f"headscope ablate {run.record.study.model.name} "
                    f"{run.record.study.about.kind}:FILE -o larger",
                )


@card_lines(30)
def off_lines(view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """What each head's task loses or gains without it."""
    for run in results:
        if not run.has(ABLATION):
            continue
        intact, study = run.record.summary_as(AblationSummary).intact[0], run.record.study
        unit = intact.difference_unit
        for row in run.rows(ABLATION, metric=intact.metric, unit="head"):
            if row.layer is None or row.head is None:
                continue
            moved = f"{unit.number(row.delta)} {unit.interval(row.low, row.high)}"
            verdict = f"the head {VERDICTS[row.verdict][0]}"
            if row.verdict == "unclear":
                verdict = "whether it helps is unclear"
            yield (
                (row.layer, row.head),
                f"off ({study.options['how']}), {intact.metric} on {study.about.name} changes by "
                f"{moved} on {row.n:,} examples: {verdict}",
            )
