"""What resting on a special token means: how much, what it gives, and whether it matters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from headscope.naming import head_name
from headscope.report.charts import AROUND, Chart, Drawing
from headscope.report.off import effects
from headscope.report.panel import Panel
from headscope.report.specials import RESTS, SPECIALS, Heads, masses, of_heads
from headscope.report.summary import number
from headscope.runs import Results, rows_of

Row = dict[str, Any]


def resting(results: list[Results]) -> Iterator[Panel]:
    """A panel for each model and corpus whose scan has masses and norms of specials."""
    for one in results:
        for place in one.record.get("corpora", ()):
            if place["weights"] in ("trained", "tuned"):
                yield from _panel(one, place, results)


def _panel(one: Results, place: Row, results: list[Results]) -> Iterator[Panel]:
    wanted = {"corpus": place["corpus"], "weights": place["weights"]}
    given = masses(one, **wanted)
    norms = [of_heads(one, "value_norms", group, **wanted) for group in SPECIALS]
    if not given[0] or not norms[0]:
        return
    study = one.record["study"]
    model = study.get("models", {}).get(place["weights"], study["model"])
    found, metric = _effects(model, results)
    points: list[Row] = []
    for layer, head in given[0]:
        parts = [mass.get((layer, head), 0.0) for mass in given]
        total = sum(parts)
        norm = sum(
            part * one.get((layer, head), 0.0) for part, one in zip(parts, norms, strict=True)
        )
        points.append(
            {"name": head_name(layer, head), "layer": layer, "head": head, "mass": total,
             "norm": norm / total if total else None, "effect": found.get((layer, head))}
        )  # fmt: skip
    rests = [row for row in points if row["mass"] >= RESTS]
    if not rests:
        return
    texts = list(_said(points, rests, metric))
    texts += [_felt(other) for other in results if _is_of(other, model) and _feels(other)]
    yield Panel(
        f"Resting on specials: {model['name']} on {place['corpus']}", texts,
        [
            Chart(
                "resting", "heads that rest on specials",
                "Across: attention to the first token and separators; up: the norm of what they "
                "give, 1 is that of a mean token.",
                scatter(points, metric), other={"points": points},
            )
        ],
    )  # fmt: skip


def _said(points: list[Row], rests: list[Row], metric: str) -> Iterator[str]:
    """How many heads rest, what they get by it, and what is lost without them."""
    small = sum(row["norm"] < RESTS for row in rests)
    yield (
        f"{len(rests)} of {len(points)} heads rest on specials with half of their attention or "
        f"more. For {small} of these a special gives less than half of what an ordinary token "
        "would give (the norm of its transformed value vector): while they rest they pass on "
        "little."
    )
    if metric:
        others = [row for row in points if row not in rests]
        sizes = [
            sum(abs(row["effect"] or 0.0) for row in some) / max(1, len(some))
            for some in (rests, others)
        ]
        yield (
            f"Colour: what {metric} gains when the head is off. On average that changes it by "
            f"{sizes[0]:.4f} for a head that rests, and by {sizes[1]:.4f} for another; a head that "
            "rested may do more when it is made to look everywhere."
        )


def _is_of(other: Results, model: Row) -> bool:
    """Whether a run is of this model."""
    return bool(other.record["study"]["model"].get("sha256") == model["sha256"])


def _effects(model: Row, results: list[Results]) -> tuple[Heads, str]:
    """What a metric gains without each head, where an ablation of the same model is at hand."""
    for other in results:
        if _is_of(other, model) and other.ablation.num_rows:
            return effects(other), str(other.record["intact"][0]["metric"])
    return {}, ""


def _feels(other: Results) -> bool:
    return any(one["analysis"] == "gradients" for one in other.record.get("analyses", ()))


def _felt(other: Results) -> str:
    """How much of what a loss feels of attention is attention to specials."""
    place = other.record["corpora"][0]
    rows = {
        row["group"]: row
        for row in rows_of(other.heads, analysis="gradients", corpus=place["corpus"])
        if row["layer"] is None
    }
    parts = [sum(rows[group][key] for group in SPECIALS) / rows["all"]["value"]
             for key in ("value", "baseline")]  # fmt: skip
    return (
        f"Of what the loss on {place['corpus']} feels of attention (the size of its gradient), "
        f"{number(parts[0], 'share')} is attention to specials; were it spread alike over all "
        f"tokens, {number(parts[1], 'share')} would be."
    )


def scatter(points: list[Row], metric: str) -> Drawing:
    """Heads by their attention to specials and the norm of what these give."""
    colour: Any = alt.value("#0072B2")
    if metric:
        reach = max(abs(row["effect"] or 0.0) for row in points) or 1.0
        colour = alt.Color(
            "effect:Q", title=f"{metric} gains",
            scale=alt.Scale(range=AROUND, domain=[-reach, 0, reach], type="sqrt",
                            interpolate="rgb"),
        )  # fmt: skip
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_circle(size=60, opacity=0.9, stroke="#777", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("mass:Q", title="attention to specials", axis=alt.Axis(format="%"),
                    scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("norm:Q", title="norm of what specials give"),
            color=colour,
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("mass:Q", title="to specials", format=".1%"),
                alt.Tooltip("norm:Q", format=".2f"),
                alt.Tooltip("effect:Q", format="+.4f"),
            ],
        )
        .properties(width=380, height=300)
    )  # fmt: skip
    return drawing
