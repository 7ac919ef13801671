"""The five shapes of maps: bars, the shape of each head, typical maps, and heads that switch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations

import altair as alt

from headscope._util.naming import head_name
from headscope.evidence import HEADS, HeadRow, Unit
from headscope.evidence.example_tables import MAPS, MapRow
from headscope.report.charts import Chart, datum, map_of_text
from headscope.report.drawings import Datum, Drawing
from headscope.report.sections import SHOWN, Section, analysis_section, run_sections
from headscope.report.small_plots import Shares
from headscope.report.views import RANDOM, CorpusView, views
from headscope.runs import RunResults

COLOURS = {
    "vertical": "#0072B2",
    "diagonal": "#D55E00",
    "vertical+diagonal": "#E69F00",
    "block": "#009E73",
    "heterogeneous": "#999999",
}
"""Of the shapes, in the order in which bars are stacked."""
INFORMATIVE = ("block", "heterogeneous")


def shapes(view: CorpusView) -> list[HeadRow]:
    """The rows of the shapes of a view."""
    return [row for row in view.rows if (row.analysis, row.statistic) == ("patterns", "shape")]


def dominant(view: CorpusView) -> dict[str, HeadRow]:
    """The row of the commonest shape of each head, by the head's name."""
    commonest: dict[str, HeadRow] = {}
    for row in shapes(view):
        if row.head is not None:
            name = row.name
            if name not in commonest or row.value > commonest[name].value:
                commonest[name] = row
    return commonest


@analysis_section("patterns")
def shapes_section(view: CorpusView) -> Section | None:
    """The shapes of one model on one corpus."""
    rows = shapes(view)
    if not rows:
        return None
    whole = {str(row.group): row for row in rows if row.layer is None}
    layers = [row for row in rows if row.head is None and row.layer is not None]
    heads = [
        datum(
            *row.place,
            row.value,
            row.attention,
            shape=row.group,
            low=row.low,
            high=row.high,
            n=row.n,
        )
        for row in dominant(view).values()
    ]
    together = sum(whole[shape].value for shape in INFORMATIVE)
    counted = Counter(head["shape"] for head in heads)
    share = Unit.SHARE
    return Section(
        "Shapes",
        [
            "Block and heterogeneous maps together, Kovaleva's upper bound of what can be "
            f"informative: {share.number(together)}."
        ],
        [
            Chart(
                "shapes-by-layer",
                "shapes by layer",
                "How many of a layer's maps (one a head and text) have each shape; vertical"
                "+diagonal is counted apart from both.",
                bars("layer:O", "layer"),
                other={"bars": [_bar(row, layer=row.layer) for row in layers]},
            ),
            Chart(
                "shapes-by-head",
                "the commonest shape of each head",
                "The paler, the smaller its share of the head's maps.",
                by_head(heads),
                other={"heads": heads},
            ),
            *_typical(view),
        ],
        ("shape", "of all maps", "95% interval", "heads", "heads that show it most"),
        [
            (
                shape,
                share.number(whole[shape].value),
                whole[shape].interval(share),
                f"{counted[shape]}",
                ", ".join(_best(heads, shape)) or "-",
            )
            for shape in COLOURS
        ],
        finding=_finding(view, whole),
        glance=_glance(view),
        menu="Patterns",
        count=f"{sum(whole[shape].value > 0 for shape in COLOURS)}",
    )


def _finding(view: CorpusView, whole: dict[str, HeadRow]) -> str:
    """The commonest shape, and what the same network shows without training."""
    commonest = max(COLOURS, key=lambda shape: whole[shape].value)
    number = Unit.SHARE.number
    said = f"{number(whole[commonest].value)} of all maps are {commonest}"
    untrained = _whole(view, RANDOM)
    if view.weights != RANDOM and untrained:
        said += f", of the same network with random weights {number(untrained[commonest])}"
    return said


def _whole(view: CorpusView, weights: str) -> dict[str, float]:
    """The share of each shape among all maps of the same corpus, with other weights."""
    place = {"corpus": view.corpus, "weights": weights, "attention": view.attention}
    rows = view.results.rows(HEADS, analysis="patterns", statistic="shape", **place)
    return {str(row.group): row.value for row in rows if row.layer is None}


def _glance(view: CorpusView) -> Shares:
    named = ((view.weights, "Trained"), (RANDOM, "Random weights"))
    rows = [(title, _whole(view, weights)) for weights, title in named]
    if view.weights == RANDOM:
        rows = rows[1:]
    return Shares(
        list(COLOURS),
        [(title, [whole[shape] for shape in COLOURS]) for title, whole in rows if whole],
        list(COLOURS.values()),
    )


def _best(heads: list[Datum], shape: str) -> list[str]:
    same = sorted((head for head in heads if head["shape"] == shape), key=lambda h: -h["value"])
    return [f"{head['name']} {Unit.SHARE.number(head['value'])}" for head in same[:3]]


def _bar(row: HeadRow, **place: object) -> Datum:
    shape = str(row.group)
    values = {"value": row.value, "low": row.low, "high": row.high}
    return place | values | {"shape": shape, "rank": list(COLOURS).index(shape)}


def _scale() -> alt.Scale:
    return alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))


def bars(place: str, title: str) -> Drawing:
    """Stacked bars, one for each layer, corpus or model."""
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="bars"))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y(place, title=title, sort=None, axis=alt.Axis(labelLimit=260)),
            x=alt.X("value:Q", stack="normalize", title="share of maps", axis=alt.Axis(format="%")),
            color=alt.Color("shape:N", title="shape", scale=_scale()),
            order="rank:Q",
            tooltip=[
                alt.Tooltip("shape:N"),
                alt.Tooltip("value:Q", title="share", format=".1%"),
                alt.Tooltip("low:Q", title="from", format=".1%"),
                alt.Tooltip("high:Q", title="to", format=".1%"),
            ],
        )
        .properties(width=330, height=alt.Step(22))
    )
    return drawing


def by_head(heads: list[Datum]) -> Drawing:
    """Layer by head: the colour is the commonest shape, its strength the share of it."""
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="heads"))
        .mark_rect(stroke="#ddd", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("layer:O", title="layer"),
            color=alt.Color("shape:N", title="shape", scale=_scale()),
            opacity=alt.Opacity(
                "value:Q",
                title="of its maps",
                scale=alt.Scale(domain=[0.2, 1], range=[0.15, 1]),
                legend=alt.Legend(format="%", values=[0.25, 0.5, 1]),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("shape:N"),
                alt.Tooltip("value:Q", title="of its maps", format=".1%"),
                alt.Tooltip("low:Q", title="from", format=".1%"),
                alt.Tooltip("high:Q", title="to", format=".1%"),
                alt.Tooltip("n:Q", title="maps", format=","),
            ],
        )
        .properties(width=280, height=22 * len({row["layer"] for row in heads}))
    )
    return drawing


def _typical(view: CorpusView) -> Iterator[Chart]:
    """For each shape the map that the classifier is surest of, among those that were kept."""
    surest: dict[str, MapRow] = {}
    for row in view.results.rows(MAPS, corpus=view.corpus, weights=view.weights):
        if row.shape is None:
            continue
        best = surest.get(row.shape)
        if best is None or (row.probability or 0) > (best.probability or 0):
            surest[row.shape] = row
    for shape in COLOURS:
        if shape in surest:
            row = surest[shape]
            name = head_name(row.layer, row.head, row.attention)
            caption = f"{name} on {row.example}: {shape} with {row.probability:.0%}."
            yield map_of_text(f"typical-{shape}", f"typical: {shape}", caption, row)


@run_sections(200)
def side_by_side(results: list[RunResults]) -> Iterator[Section]:
    """Shapes of several views side by side, and the heads that switch between two of them."""
    shown = [view for view in views(results) if shapes(view)]
    if len({(view.model.sha256, view.corpus, view.weights) for view in shown}) < 2:
        return
    rows = [
        _bar(row, title=view.title) for view in shown for row in shapes(view) if row.layer is None
    ]
    switches = _switches(shown)
    yield Section(
        "Shapes side by side",
        [
            "Which share of all maps has each shape. In the table: heads of one model whose "
            "commonest shape is another there, with its share and 95% interval; only those "
            "whose intervals lie above a half on both sides.",
        ],
        [
            Chart(
                "shapes-side-by-side",
                "shapes by model and corpus",
                "",
                bars("title:N", ""),
                other={"bars": rows},
            )
        ],
        ("head", "from", "shape", "share", "to", "shape ", "share "),
        switches[: 2 * SHOWN],
        finding=(
            f"In {len(switches)} {'case' if len(switches) == 1 else 'cases'} a head's commonest "
            "shape surely differs between these views"
            if switches
            else "No head's commonest shape surely differs between these views"
        ),
    )


def _switches(shown: list[CorpusView]) -> list[tuple[str, ...]]:
    """Heads whose commonest shape differs for sure, the clearest first."""
    lines: dict[tuple[str, ...], float] = {}
    groups: dict[tuple[int | str, ...], list[CorpusView]] = defaultdict(list)
    for view in shown:
        if view.weights != "random":
            groups[view.attention, view.model.layers, view.model.heads].append(view)
    for same in groups.values():
        for first, second in combinations(same, 2):
            after = dominant(second)
            for name, row in dominant(first).items():
                there = after[name]
                if row.group != there.group and _sure(row) and _sure(there):
                    cells = (name, first.title, *_shares(row), second.title, *_shares(there))
                    lines[cells] = min(row.value, there.value)
    return sorted(lines, key=lambda cells: -lines[cells])


def _sure(row: HeadRow) -> bool:
    return row.low is not None and row.low > 0.5


def _shares(row: HeadRow) -> tuple[str, str]:
    return str(row.group), f"{Unit.SHARE.number(row.value)} {row.interval(Unit.SHARE)}"
