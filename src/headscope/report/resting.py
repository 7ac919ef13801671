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
from headscope.runs import Results

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
    small = sum(row["norm"] < RESTS for row in rests)
    text = (
        f"{len(rests)} of {len(points)} heads rest on specials with half of their attention or "
        f"more. For {small} of these a special gives less than half of what an ordinary token "
        "would give (the norm of its transformed value vector): such heads do little."
    )
    if metric:
        text += f" Colour: what {metric} gains when the head is off."
    yield Panel(
        f"Resting on specials: {model['name']} on {place['corpus']}", [text],
        [
            Chart(
                "resting", "heads that rest on specials",
                "Across: attention to the first token and separators; up: the norm of what they "
                "give, 1 is that of a mean token.",
                scatter(points, metric), other={"points": points},
            )
        ],
    )  # fmt: skip


def _effects(model: Row, results: list[Results]) -> tuple[Heads, str]:
    """What a metric gains without each head, where an ablation of the same model is at hand."""
    for other in results:
        same = other.record["study"]["model"].get("sha256") == model["sha256"]
        if same and other.ablation.num_rows:
            return effects(other), str(other.record["intact"][0]["metric"])
    return {}, ""


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
