"""What resting on a special token means: how much, what it gives, and whether it matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import altair as alt
import numpy as np

from headscope._util.naming import head_name
from headscope.analyses._special_tokens.section import RESTS, SPECIALS, Heads, masses, of_heads
from headscope.evidence import HEADS
from headscope.evidence.correlation import rank_correlation
from headscope.experiments.ablation.tables import ABLATION, gains, intact_score
from headscope.report.charts import Chart
from headscope.report.drawings import Datum, Drawing, gain_of
from headscope.report.sections import Section, run_sections
from headscope.runs import CorpusRecord, RunResults

NORM = "value-vector norm of special tokens"
GRADIENT = "gradient of the loss to specials"
OFF = {"uniform": "looking everywhere alike", "zero": "giving nothing", "mean": "giving its mean"}
"""What a head does that is off."""


@dataclass(frozen=True)
class Measure:
    """A number of every head that is set against its attention to specials.

    Attributes:
        unit: what the axis counts, and on which texts.
        even: what it would be were specials like other tokens, or were there no head.
        means: what that is, in words.
        size: whether it is the distance from `even` that tells, not the side.
    """

    name: str
    values: Heads
    unit: str
    even: float
    means: str
    size: bool = False


@run_sections(150)
def resting(results: list[RunResults]) -> Iterator[Section]:
    """A section for each model and corpus whose scan has masses and norms of specials."""
    for run in results:
        for corpus in run.record.corpora:
            if corpus.weights in ("trained", "tuned"):
                same = [other.of(corpus.attention) for other in results]
                yield from _section(run.of(corpus.attention), corpus, same)


def _section(run: RunResults, corpus: CorpusRecord, results: list[RunResults]) -> Iterator[Section]:
    wanted = {"corpus": corpus.corpus, "weights": corpus.weights}
    given = masses(run, **wanted)
    norms = [of_heads(run, "value_norms", group, **wanted) for group in SPECIALS]
    if not given[0] or not norms[0]:
        return
    mass = {at: sum(part.get(at, 0.0) for part in given) for at in given[0]}
    rests = [at for at, value in mass.items() if value >= RESTS]
    if not rests:
        return
    study = run.record.study
    model = study.models.get(corpus.weights, study.model)
    same = [other for other in results if other.record.study.model.sha256 == model.sha256]
    measures = [_norm(mass, given, norms), *_gradient(same), *_effect(same)]
    yield Section(
        f"Resting on specials: {model.name} on {corpus.corpus}{run.of_attention}",
        [
            f"{len(rests)} of {len(mass)} heads rest on specials (the first token and separators) "
            "with half of their attention or more.",
            *(_comparison(measure, mass, set(rests)) for measure in measures),
        ],
        [
            Chart(
                "resting",
                "heads by their attention to specials",
                "A point is a head. Across: how much it looks at the first token and separators, "
                f"on {corpus.corpus}; right of the upright line it rests on them.",
                scatter(measures),
                wide=True,
                other={
                    "points": [row for one in measures for row in _points(one, mass, run.attention)]
                },
            )
        ],
        finding=(
            f"{len(rests)} of {len(mass)} heads give at least half of their attention to specials "
            f"on {corpus.corpus}, without a test"
        ),
        menu=f"Resting: {corpus.corpus}",
        count=f"{len(rests)}",
    )


def _norm(mass: Heads, given: list[Heads], norms: list[Heads]) -> Measure:
    """The norm of the transformed value vectors of specials, by how much they are looked at."""
    parts = list(zip(given, norms, strict=True))
    values = {
        at: sum(part.get(at, 0.0) * norm.get(at, 0.0) for part, norm in parts) / total
        for at, total in mass.items()
        if total
    }
    return Measure(NORM, values, "times that of a mean token", 1.0, "like a mean token")


def _gradient(same: list[RunResults]) -> Iterator[Measure]:
    """The gradient of the loss by attention to specials, against an even spread over tokens."""
    for run in same:
        if not any(record.analysis == "gradients" for record in run.record.analyses):
            continue
        corpus = run.corpora[0]
        sums: dict[tuple[int, int], list[float]] = {}
        for row in run.rows(HEADS, analysis="gradients", corpus=corpus):
            if row.head is not None and row.group in SPECIALS:
                pair = sums.setdefault(row.place, [0.0, 0.0])
                pair[0] += row.value
                pair[1] += row.baseline or 0.0
        values = {at: value / even for at, (value, even) in sums.items() if even}
        unit = f"times that to a mean token, on {corpus}"
        yield Measure(GRADIENT, values, unit, 1.0, "like a mean token")
        return


def _effect(same: list[RunResults]) -> Iterator[Measure]:
    """What a metric gains without each head."""
    for run in same:
        if run.has(ABLATION):
            metric, study = intact_score(run).metric, run.record.study
            unit = f"{metric} on {study.about.name}, {OFF[study.options['how']]}"
            yield Measure(gain_of(metric), gains(run), unit, 0.0, "no change", size=True)
            return


def _comparison(measure: Measure, mass: Heads, rests: set[tuple[int, int]]) -> str:
    """The mean of heads that rest and of others, and whether it goes with how much they rest."""
    places = [at for at in mass if at in measure.values]
    values = np.array([measure.values[at] for at in places])
    sizes = np.abs(values - measure.even) if measure.size else values
    resting = np.array([at in rests for at in places])
    name = f"Size of the {measure.name}" if measure.size else measure.name.capitalize()
    parts = [
        f"{sizes[some].mean():.3g} on average for heads that {do}"
        for some, do in ((resting, "rest"), (~resting, "do not"))
        if some.any()
    ]
    looked = np.array([mass[at] for at in places])
    correlation = rank_correlation(looked, sizes, [layer for layer, _ in places])
    if correlation is None:
        return f"{name}: {', '.join(parts)}."
    return (
        f"{name}: {', '.join(parts)}; Spearman's correlation with the attention to specials "
        f"{correlation}{'' if correlation.sure else ': not shown to be other than 0'}."
    )


def _points(measure: Measure, mass: Heads, attention: str) -> Iterator[Datum]:
    for (layer, head), value in measure.values.items():
        if (layer, head) in mass:
            yield {
                "name": head_name(layer, head, attention),
                "layer": layer,
                "head": head,
                "mass": mass[layer, head],
                "measure": measure.name,
                "value": value,
                "even": measure.even,
            }


def scatter(measures: list[Measure]) -> Drawing:
    """Heads by their attention to specials, across, and something else, one plot each."""
    drawing: Drawing = alt.hconcat(
        *(_plot(one) for one in measures), data=alt.NamedData(name="points"), spacing=30
    )
    return drawing


def _plot(measure: Measure) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart().transform_filter(alt.datum.measure == measure.name)
    x = alt.X(
        "mass:Q",
        title="attention to specials",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5, labelFlush=False),
    )
    y = alt.Y(
        "value:Q",
        title=measure.unit,
        axis=alt.Axis(format="~g", tickCount=6),
        scale=alt.Scale(type="linear" if measure.size else "sqrt"),
    )
    points = base.mark_circle(size=45, opacity=0.65, cursor="pointer").encode(
        x=x,
        y=y,
        color=alt.Color("layer:O", scale=alt.Scale(scheme="viridis"), title="layer"),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("mass:Q", title="to specials", format=".1%"),
            alt.Tooltip("measure:N", title="measured"),
            alt.Tooltip("value:Q", format=".3~g"),
        ],
    )
    even = base.mark_rule(strokeDash=[5, 4], color="#777").encode(y="mean(even):Q")
    said = base.mark_text(align="right", dy=-7, color="#555", text=measure.means).encode(
        x=alt.datum(1), y="mean(even):Q"
    )
    half = base.mark_rule(color="#bbb").encode(x=alt.datum(RESTS))
    return alt.layer(half, even, points, said).properties(width=230, height=230, title=measure.name)
