"""Families of heads: the plane, the tree, the clusters, and whether a layer's heads are alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram

from headscope._util.naming import head_name
from headscope.analyses._special_tokens.masses import RESTS, masses
from headscope.evidence import families
from headscope.report.charts import COLOURS, Chart, Drawing
from headscope.report.numbers import interval, number
from headscope.report.sections import Panel
from headscope.runs import rows_of

if TYPE_CHECKING:
    from headscope.report.views import View

Row = dict[str, Any]
NO_ROLE = "no role known"
JOINS = "#999999"
SIDE = 0.025
"""Either side of a test at 5%."""
POOR = 0.2
"""Stress above which a plane shows distances only roughly."""


def roles(view: View) -> dict[str, str]:
    """What each head is, in a word or two, as far as this run tells: its most telling role."""
    heads = {head_name(row["layer"], row["head"]) for row in view.rows if row["head"] is not None}
    found = dict.fromkeys(sorted(heads), NO_ROLE)
    resting: Counter[tuple[int, int]] = Counter()
    for mass in masses(view.results, view.corpus, view.weights):
        resting.update(mass)
    found |= {head_name(*head): "rests on specials" for head in resting if resting[head] >= RESTS}
    return found | {head_name(*role.place): role.rule.name for role in reversed(view.roles)}


def relatives(view: View) -> Iterator[tuple[tuple[int, int], str]]:
    """Of each head, who is nearest to it."""
    for row in rows_of(view.results.families, corpus=view.corpus, weights=view.weights):
        nearest = head_name(row["nearest_layer"], row["nearest_head"])
        text = (
            f"its nearest relative is {nearest}, {row['distance']:.3f} nats away; it belongs to "
            f"family {row['cluster'] + 1}"
        )
        yield (row["layer"], row["head"]), text


def panel(view: View) -> Panel | None:
    """The families of one model on one corpus."""
    wanted = {"corpus": view.corpus, "weights": view.weights}
    members = rows_of(view.results.families, **wanted)
    if not members:
        return None
    role = roles(view)
    points = [
        row
        | {"name": head_name(row["layer"], row["head"])}
        | {"role": role[head_name(row["layer"], row["head"])]}
        | {"nearest": head_name(row["nearest_layer"], row["nearest_head"])}
        | {"family": f"{row['cluster'] + 1}"}
        for row in members
    ]
    apart = matrix(rows_of(view.results.distances, **wanted), members)
    stress = points[0]["stress"]
    reading = (
        "A point is a head; near points look at texts alike (multidimensional scaling). "
        + ("Stress" if stress <= POOR else "Read it roughly: stress")
        + f" {stress:.2f} (0: the plane shows all distances truly)."
    )
    charts = [
        Chart("families-by-layer", "heads in a plane, by layer", reading,
              plane("layer"), other={"points": points}),
        Chart("families-by-role", "heads in a plane, by role", reading,
              plane("role", sorted({row["role"] for row in points})),
              other={"points": points}),
        Chart("families-tree", "the tree of heads",
              "Heads that meet low are alike (Ward's rule; up: the root of the divergence). "
              "Colours are families, grey joins them.",
              tree(len(points)), wide=True, other=branches(apart, points)),
    ]  # fmt: skip
    return Panel(
        "Families", [alike(view)], charts,
        ("family", "heads", "roles", "layers", "closest pair", "distance"),
        list(_clusters(points)),
    )  # fmt: skip


def alike(view: View) -> str:
    """Whether heads of one layer are alike, in words."""
    rows = [row for row in view.rows if row["analysis"] == "distances" and row["layer"] is None]
    found = {row["statistic"]: row for row in rows}
    apart, within = found["between_minus_within"], found["within_layer"]
    said = "nearer to" if apart["value"] > 0 else "farther from"
    p = apart["p"]
    mean = number(within["value"], "nats")
    return (
        f"Are heads of one layer alike? Two heads of one layer are {mean} "
        f"nats from each other, heads of different layers {number(within['baseline'], 'nats')}; "
        f"difference {apart['value']:+.3f} {interval(apart, 'nats gained')}. " + _verdict(p, said)
    )


def _verdict(p: float | None, said: str) -> str:
    if p is None:
        return "There are too few documents for a test."
    if min(p, 1 - p) < SIDE:
        return (
            f"Heads of one layer are {said} each other than layers dealt out at random would be "
            f"(p = {p:.4f})."
        )
    return f"Layers dealt out at random do as well (p = {p:.2f}): it is not shown."


def matrix(pairs: list[Row], members: list[Row]) -> NDArray[np.float64]:
    """(head, head) distances in the order of the members."""
    place = {(row["layer"], row["head"]): number for number, row in enumerate(members)}
    made = np.zeros((len(members), len(members)))
    for row in pairs:
        one, other = place[row["layer"], row["head"]], place[row["other_layer"], row["other_head"]]
        made[one, other] = made[other, one] = row["value"]
    return made


def _clusters(points: list[Row]) -> list[tuple[str, ...]]:
    found = defaultdict(list)
    for row in points:
        found[row["cluster"]].append(row)
    lines: list[tuple[str, ...]] = []
    for cluster, rows in sorted(found.items()):
        counted = Counter(row["role"] for row in rows).most_common()
        closest = min(rows, key=lambda row: row["distance"])
        lines.append(
            (
                f"{cluster + 1}",
                " ".join(row["name"] for row in rows),
                ", ".join(f"{role} ({times})" for role, times in counted),
                " ".join(f"L{layer}" for layer in sorted({row["layer"] for row in rows})),
                f"{closest['name']} {closest['nearest']}",
                number(closest["distance"], "nats"),
            )
        )
    return lines


def plane(by: str, names: list[str] | None = None) -> Drawing:
    """Heads as points, coloured by layer, or by what has one of these names."""
    scale = alt.Scale(scheme="viridis")
    if names is not None:
        known = [name for name in names if name != NO_ROLE]
        colours = [COLOURS[place % len(COLOURS)] for place in range(len(known))]
        scale = alt.Scale(domain=[*known, NO_ROLE], range=[*colours, JOINS])
    axis = alt.Axis(labels=False, ticks=False, title=None, domain=False)
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_circle(size=70, opacity=0.85, stroke="white", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("x:Q", axis=axis, scale=alt.Scale(nice=False, padding=12)),
            y=alt.Y("y:Q", axis=axis, scale=alt.Scale(nice=False, padding=12)),
            color=alt.Color(f"{by}:{'O' if names is None else 'N'}", title=by, scale=scale),
            tooltip=[
                alt.Tooltip("name:N", title="head"),
                alt.Tooltip("role:N"),
                alt.Tooltip("family:N"),
                alt.Tooltip("nearest:N", title="nearest relative"),
                alt.Tooltip("distance:Q", title="at", format=".3f"),
            ],
        )
        .properties(width=380, height=320)
    )
    return drawing


def tree(heads: int) -> Drawing:
    """The dendrogram, heads across."""
    step = max(8, min(14, 1000 // heads))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 10 * heads], nice=False))
    colour = alt.Color("colour:N", scale=None)
    lines = (
        alt.Chart(alt.NamedData(name="branches"))
        .mark_line(strokeWidth=1.3, interpolate="linear")
        .encode(
            x=x,
            y=alt.Y("y:Q", title="square root of the divergence", scale=alt.Scale(nice=False)),
            detail="branch:N",
            order="corner:Q",
            color=colour,
        )
    )
    names = (
        alt.Chart(alt.NamedData(name="leaves"))
        .mark_text(angle=270, align="right", baseline="middle", dy=0, dx=-4, fontSize=9,
                   cursor="pointer")
        .encode(x=x, y=alt.Y("y:Q"), text="name:N", color=colour, tooltip=["name:N", "role:N"])
    )  # fmt: skip
    return alt.layer(lines, names).properties(width=step * heads, height=260)


def branches(apart: NDArray[np.float64], points: list[Row]) -> dict[str, list[Row]]:
    """The data of `tree`: corners of its branches, and the heads below."""
    links = families.tree(apart)
    colours = [COLOURS[row["cluster"] % len(COLOURS)] for row in points]
    family = [row["cluster"] for row in points]
    for one, other in links[:, :2].astype(int):  # a branch above two families has none
        family.append(family[one] if family[one] == family[other] else -1)
    drawn = dendrogram(
        links,
        no_plot=True,
        link_color_func=lambda node: (
            COLOURS[family[node] % len(COLOURS)] if family[node] >= 0 else JOINS
        ),
    )
    order = families.order(links).tolist()
    rows = [
        {"branch": branch, "corner": corner, "x": x, "y": y, "colour": colour}
        for branch, (xs, ys, colour) in enumerate(
            zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True)
        )
        for corner, (x, y) in enumerate(zip(xs, ys, strict=True))
    ]
    leaves = [
        {"x": 10 * place + 5, "y": 0, "name": points[head]["name"], "role": points[head]["role"],
         "colour": colours[head]}
        for place, head in enumerate(order)
    ]  # fmt: skip
    return {"branches": rows, "leaves": leaves}
