"""What fine-tuning changed, what comes from pre-training, and whether the change matters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headscope.evidence import HEADS, HeadRow, Unit
from headscope.evidence.example_tables import MAPS
from headscope.experiments.compare import changes
from headscope.experiments.compare.tables import BASE, BESIDE, DIFFERENCE, TUNED, similarities
from headscope.report.charts import Chart, by_layer, head_datum, map_of_text
from headscope.report.drawings import similarity_map
from headscope.report.numbers import described_statistics
from headscope.report.sections import (
    SHOWN,
    Cell,
    HeadNumbers,
    Place,
    Section,
    card_lines,
    head_numbers,
    run_sections,
)
from headscope.report.small_plots import Interval, Strip
from headscope.report.views import CorpusView
from headscope.runs import RunResults
from headscope.runs.record import StatisticRecord

Floats = NDArray[np.float64]
COLUMNS = ("head", "cosine", "95% interval", "what moved most", "before", "after", "by")
SIDE_BY_SIDE = 8
"""Statistics that are shown for several models side by side."""
UNCHANGED = 1e-6
"""Cosines that differ by less differ by rounding."""


@run_sections(40)
def change(results: list[RunResults]) -> Iterator[Section]:
    """How similar the maps of two models are, head by head; and a third model's numbers."""
    for run in results:
        models = run.record.study.models
        for corpus in run.corpora if models else ():
            yield _change_section(run, corpus)
            if BESIDE in models:
                yield _pretraining_section(run, corpus)


def _change_section(run: RunResults, corpus: str) -> Section:
    models = run.record.study.models
    base, tuned = models[BASE].name, models[TUNED].name
    heads = changes(run, corpus)
    layers = [
        row for row in similarities(run, corpus) if row.head is None and row.layer is not None
    ]
    least = min(layers, key=lambda row: row.value)
    cosine = f"{Unit.COSINE.number(least.value)} {least.interval(Unit.COSINE)}"
    return Section(
        f"Change: {base} and {tuned} on {corpus}",
        [
            f"Cosine similarity of the attention maps of {base} (before) and {tuned} (after) "
            f"on the same texts, flattened; 1 means unchanged. The layer that changed most is "
            f"L{least.layer} ({cosine}).",
            "The table gives, for each head, the number of a scan that moved most among those "
            "whose paired difference is significant (q below .05).",
        ],
        [*_similarity_charts(heads, layers), *_before_and_after(run, corpus, heads)],
        COLUMNS,
        list(_moved(run, corpus, heads)),
        finding=_finding(heads, least),
        glance=Strip([_changed(row) for row in heads], "unchanged", _as_cosine),
        menu=f"Change on {corpus}",
        leads=True,
    )


def _finding(heads: list[HeadRow], least: HeadRow) -> str:
    """The layer and the head that changed most."""
    number = Unit.COSINE.number
    if 1 - heads[0].value < UNCHANGED:
        return "No head's maps changed"
    return (
        f"{heads[0].name} changed most (cosine {number(heads[0].value)}), of layers "
        f"L{least.layer} ({number(least.value)})"
    )


def _as_cosine(change: float) -> str:
    return f"cosine {1 - change:.2f}"


def _changed(row: HeadRow) -> Interval:
    """A head's change, 0 for none."""
    if row.low is None or row.high is None:
        return Interval(1 - row.value, None, None, sure=False)
    return Interval(1 - row.value, 1 - row.high, 1 - row.low, sure=row.high < 1)


@head_numbers(50)
def changed_maps(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """How much the maps of each head changed, of a model that was compared."""
    for run in results:
        models = run.record.study.models
        if BASE not in models or TUNED not in models:
            continue
        for corpus in run.corpora:
            rows = {row.place: row for row in similarities(run, corpus) if row.head is not None}
            yield HeadNumbers(
                f"change ({corpus})",
                f"How much a head's maps on {corpus} changed from {models[BASE].name} to "
                f"{models[TUNED].name}: 1 less their cosine similarity.",
                corpus,
                Unit.COSINE,
                {place: _changed(row) for place, row in rows.items()},
            )


def _similarity_charts(heads: list[HeadRow], layers: list[HeadRow]) -> Iterator[Chart]:
    """The similarity of maps by head, and by layer."""
    cells = [head_datum(row) for row in heads]
    yield Chart(
        "change-heads",
        "similarity of maps",
        "Cosine of a head's maps before and after; the darker, the more it changed.",
        similarity_map(cells),
        cells,
    )
    name = "similarity"
    yield by_layer(
        "change-layers",
        "similarity by layer",
        "A point is a head, the line joins the means of the layers, with 95% intervals.",
        [name],
        Unit.COSINE,
        heads=[head_datum(row, series=name) for row in heads],
        layers=[head_datum(row, series=name) for row in layers],
        baseline=False,
    )


def _before_and_after(run: RunResults, corpus: str, heads: list[HeadRow]) -> Iterator[Chart]:
    """Maps of the most and the least changed heads on the shortest text that was kept.

    Args:
        heads: the most changed first.
    """
    kept = run.rows(MAPS, corpus=corpus)
    if not kept:
        return
    example = min(kept, key=lambda row: (len(row.tokens), row.example)).example
    maps = {(row.weights, row.layer, row.head): row for row in kept if row.example == example}
    for rank, row in (("most", heads[0]), ("second most", heads[1]), ("least", heads[-1])):
        name = row.name
        for weights, when in ((BASE, "before"), (TUNED, "after")):
            shown = maps[weights, *row.place]
            caption = f"The {rank} changed head: cosine {row.value:.3f}."
            yield map_of_text(f"change-{name}-{when}", f"{name} {when}", caption, shown)


def _moved(run: RunResults, corpus: str, heads: list[HeadRow]) -> Iterator[tuple[Cell | str, ...]]:
    """The most and least changed heads, with the statistic that moved most."""
    units = _percent_units(run)
    largest: dict[Place, HeadRow] = {}
    for row in run.rows(HEADS, corpus=corpus, weights=DIFFERENCE):
        if row.head is not None and row.sure and (row.analysis, row.statistic) in units:
            rival = largest.get(row.place)
            if rival is None or abs(row.value) > abs(rival.value):
                largest[row.place] = row
    values = {
        (row.weights, *_key(row)): row.value
        for row in run.rows(HEADS, corpus=corpus)
        if row.head is not None
    }
    shown = heads if len(heads) <= 2 * SHOWN else heads[:SHOWN] + heads[-3:]
    for row in shown:
        name, unit = row.name, Unit.COSINE
        line = (Cell(name, head=name), unit.number(row.value), row.interval(unit))
        moved = largest.get(row.place)
        if moved is None:
            yield (*line, "nothing significant", "-", "-", "-")
            continue
        number = units[moved.analysis, moved.statistic].number
        before, after = (number(values[weights, *_key(moved)]) for weights in (BASE, TUNED))
        yield (*line, _words(moved), before, after, Unit.POINTS.number(moved.value))


def _percent_units(run: RunResults) -> dict[tuple[str, str], Unit]:
    """The units of the statistics whose differences are points, which can be ranked together."""
    units = {
        (analysis.analysis, statistic.statistic): run.record.unit(statistic.unit)
        for analysis, statistic in described_statistics(run.record)
    }
    return {key: unit for key, unit in units.items() if unit.percent}


def _key(row: HeadRow) -> tuple[str | int | None, ...]:
    """What a number is of."""
    return row.analysis, row.statistic, row.group, row.direction, row.layer, row.head


def _words(row: HeadRow) -> str:
    """What a number is of, in words."""
    parts = [part for part in (row.statistic, row.group, row.direction) if part is not None]
    return f"{row.analysis}: {' '.join(parts)}".replace("_", " ")


def _pretraining_section(run: RunResults, corpus: str) -> Section:
    """What comes from pre-training: the same statistics of all models, layer by layer."""
    models = run.record.study.models
    series = {
        BASE: f"{models[BASE].name} (base)",
        TUNED: "fine-tuned from it",
        BESIDE: f"{models[BESIDE].name} (beside)",
    }
    charts: list[Chart] = []
    for analysis, statistic in described_statistics(run.record):
        for group, text in statistic.headlines.items():
            rows = [
                row
                for row in _rows_of(run, corpus, analysis.analysis, statistic, group or None)
                if row.weights in series
            ]
            if any(row.head is None for row in rows) and len(charts) < SIDE_BY_SIDE:
                unit = run.record.unit(statistic.unit)
                charts.append(
                    _side_by_side(f"{analysis.analysis}-{text}", text, rows, series, unit)
                )
    return Section(
        f"What comes from pre-training: {corpus}",
        [
            "The same statistics for the base model, the fine-tuned one, and a third beside them. "
            "Where the third was fine-tuned from random weights: what it lacks and the other two "
            "have comes from pre-training; what it shares with the fine-tuned model comes from the "
            "task. A point is a head, a line joins the means of the layers; dashed is the baseline."
        ],
        charts,
        menu="Pre-training",
    )


def _rows_of(
    run: RunResults, corpus: str, analysis: str, statistic: StatisticRecord, group: str | None
) -> list[HeadRow]:
    """The numbers of a statistic, of heads and of layers."""
    rows = run.rows(HEADS, corpus=corpus, analysis=analysis, statistic=statistic.statistic)
    return [
        row
        for row in rows
        if (row.group, row.direction) == (group, statistic.direction) and row.layer is not None
    ]


def _side_by_side(
    slug: str, title: str, rows: list[HeadRow], series: dict[str, str], unit: Unit
) -> Chart:
    """A statistic of several models, layer by layer; `series` names them by role."""
    layers = [row for row in rows if row.head is None]
    return by_layer(
        f"side-{slug}".replace(" ", "-"),
        title,
        "",
        list(series.values()),
        unit,
        heads=[head_datum(row, series=series[row.weights]) for row in rows if row.head is not None],
        layers=[head_datum(row, series=series[row.weights]) for row in layers],
    )


@card_lines(20)
def change_lines(view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """How much the maps of each head changed, of a model that was compared."""
    for run in results:
        models = run.record.study.models
        if view.model.sha256 not in {
            models[role].sha256 for role in (BASE, TUNED) if role in models
        }:
            continue
        for corpus in run.corpora:
            for row in similarities(run, corpus):
                if row.head is not None:
                    cosine = f"{Unit.COSINE.number(row.value)} {row.interval(Unit.COSINE)}"
                    yield (
                        row.place,
                        f"from {models[BASE].name} to {models[TUNED].name} its maps on {corpus} "
                        f"changed to a cosine of {cosine}",
                    )
