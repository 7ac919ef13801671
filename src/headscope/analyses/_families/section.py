"""Families of heads: the plane, the tree, the clusters, and whether a layer's heads are alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram

from headscope._util.naming import head_name
from headscope.analyses._families.tables import DISTANCES, FAMILIES, Distance, Relative
from headscope.analyses._special_tokens.section import RESTS, masses
from headscope.evidence import Unit, families
from headscope.report.charts import Chart
from headscope.report.drawings import COLOURS, Datum, Drawing
from headscope.report.sections import (
    Place,
    Section,
    analysis_section,
    card_lines,
    head_relatives,
    summary_lines,
)
from headscope.report.views import CorpusView
from headscope.runs import RunResults

NO_ROLE = "no role known"
JOINS = "#999999"
SIDE = 0.025
"""Either side of a test at 5%."""
SHOWN = 5
"""Relatives of a head that its page shows."""
NEAR = 0.05
"""Nats of divergence: heads this near look nearly alike (two with nothing in common are 0.69
apart)."""
POOR = 0.2
"""Stress above which a plane shows distances only roughly."""


def roles(view: CorpusView) -> dict[str, str]:
    """What each head is, in a word or two, as far as this run tells: its most telling role."""
    heads = {row.name for row in view.rows if row.head is not None}
    named = dict.fromkeys(sorted(heads), NO_ROLE)
    resting: Counter[Place] = Counter()
    for mass in masses(view.results, view.corpus, view.weights):
        resting.update(mass)
    named |= {view.name(head): "rests on specials" for head in resting if resting[head] >= RESTS}
    return named | {role.row.name: role.rule.name for role in reversed(view.roles)}


def relatives_of(view: CorpusView) -> list[Relative]:
    """The rows of a view's heads."""
    return view.results.rows(FAMILIES, corpus=view.corpus, weights=view.weights)


@head_relatives(10)
def nearest_heads(view: CorpusView) -> dict[str, list[tuple[str, float]]]:
    """Of each head the nearest others, by divergence."""
    near: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in view.results.rows(DISTANCES, corpus=view.corpus, weights=view.weights):
        one = head_name(row.layer, row.head, row.attention)
        other = head_name(row.other_layer, row.other_head, row.attention)
        near[one].append((other, row.value))
        near[other].append((one, row.value))
    return {head: sorted(others, key=lambda each: each[1])[:SHOWN] for head, others in near.items()}


@card_lines(10)
def nearest_relatives(view: CorpusView, _: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """Of each head, who is nearest to it."""
    for row in relatives_of(view):
        nearest = head_name(row.nearest_layer, row.nearest_head, row.attention)
        text = (
            f"its nearest relative is {nearest}, {row.distance:.3f} nats away; it belongs to "
            f"family {row.cluster + 1}"
        )
        yield (row.layer, row.head), text


@summary_lines(10)
def redundancy(view: CorpusView, _: list[RunResults]) -> Iterator[str]:
    """How many heads have a near relative, and whether layers are alike."""
    rows = relatives_of(view)
    if not rows:
        return
    near = [row for row in rows if row.distance < NEAR]
    closest = min(rows, key=lambda row: row.distance)
    yield (
        f"Redundancy: {len(near)} of {len(rows)} heads have a relative that looks nearly alike "
        f"(less than {NEAR:g} nats of divergence); the closest pair is "
        f"{head_name(closest.layer, closest.head, closest.attention)} and "
        f"{head_name(closest.nearest_layer, closest.nearest_head, closest.attention)} "
        f"({closest.distance:.3f}). {alike(view)}"
    )


@analysis_section("distances")
def families_section(view: CorpusView) -> Section | None:
    """The families of one model on one corpus."""
    members = relatives_of(view)
    if not members:
        return None
    role = roles(view)
    points = [_point(row, role) for row in members]
    pairs = view.results.rows(DISTANCES, corpus=view.corpus, weights=view.weights)
    stress = members[0].stress
    reading = (
        "A point is a head; near points look at texts alike (multidimensional scaling). "
        + ("Stress" if stress <= POOR else "Read it roughly: stress")
        + f" {stress:.2f} (0: the plane shows all distances truly)."
    )
    named = sorted({point["role"] for point in points})
    charts = [
        Chart(
            "families-by-layer",
            "heads in a plane, by layer",
            reading,
            plane("layer"),
            other={"points": points},
        ),
        Chart(
            "families-by-role",
            "heads in a plane, by role",
            reading,
            plane("role", named),
            other={"points": points},
        ),
        Chart(
            "families-tree",
            "the tree of heads",
            "Heads that meet low are alike (Ward's rule; up: the root of the divergence). "
            "Colours are families, grey joins them.",
            tree(len(points)),
            wide=True,
            other=branches(matrix(pairs, members), points),
        ),
    ]
    columns = ("family", "heads", "roles", "layers", "closest pair", "distance")
    near = sum(row.distance < NEAR for row in members)
    rows = list(_clusters(points))
    return Section(
        "Families",
        [alike(view)],
        charts,
        columns,
        rows,
        finding=(
            f"{near} of {len(members)} heads have a near twin (less than {NEAR:g} nats away)"
            if near
            else f"No head has a near twin: the closest pair is {_closest(members)} apart"
        ),
        menu="Families",
        count=f"{len(rows)}",
    )


def _closest(members: list[Relative]) -> str:
    return f"{Unit.NATS.number(min(row.distance for row in members))} nats"


def _point(row: Relative, role: dict[str, str]) -> Datum:
    name = head_name(row.layer, row.head, row.attention)
    return vars(row) | {
        "name": name,
        "role": role[name],
        "nearest": head_name(row.nearest_layer, row.nearest_head, row.attention),
        "family": f"{row.cluster + 1}",
    }


def alike(view: CorpusView) -> str:
    """Whether heads of one layer are alike, in words."""
    rows = {
        row.statistic: row for row in view.rows if row.analysis == "distances" and row.layer is None
    }
    apart, within = rows["between_minus_within"], rows["within_layer"]
    nearer = "nearer to" if apart.value > 0 else "farther from"
    nats = Unit.NATS.number
    return (
        f"Are heads of one layer alike? Two heads of one layer are {nats(within.value)} nats from "
        f"each other, heads of different layers {nats(within.baseline)}; difference "
        f"{apart.value:+.3f} {apart.interval(Unit.NATS_GAINED)}. " + _verdict(apart.p, nearer)
    )


def _verdict(p: float | None, nearer: str) -> str:
    if p is None:
        return "There are too few documents for a test."
    if min(p, 1 - p) < SIDE:
        return (
            f"Heads of one layer are {nearer} each other than layers dealt out at random would be "
            f"(p = {p:.4f})."
        )
    return f"Layers dealt out at random do as well (p = {p:.2f}): it is not shown."


def matrix(pairs: list[Distance], members: list[Relative]) -> NDArray[np.float64]:
    """(head, head) distances in the order of the members."""
    place = {(row.layer, row.head): number for number, row in enumerate(members)}
    distances = np.zeros((len(members), len(members)))
    for pair in pairs:
        first = place[pair.layer, pair.head]
        second = place[pair.other_layer, pair.other_head]
        distances[first, second] = distances[second, first] = pair.value
    return distances


def _clusters(points: list[Datum]) -> Iterator[tuple[str, ...]]:
    families_of = defaultdict(list)
    for point in points:
        families_of[point["cluster"]].append(point)
    for cluster, members in sorted(families_of.items()):
        counted = Counter(point["role"] for point in members).most_common()
        closest = min(members, key=lambda point: float(point["distance"]))
        yield (
            f"{cluster + 1}",
            " ".join(point["name"] for point in members),
            ", ".join(f"{role} ({times})" for role, times in counted),
            " ".join(f"L{layer}" for layer in sorted({point["layer"] for point in members})),
            f"{closest['name']} {closest['nearest']}",
            Unit.NATS.number(closest["distance"]),
        )


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
        .mark_text(angle=270, align="right", baseline="middle", dx=-4, fontSize=9, cursor="pointer")
        .encode(x=x, y=alt.Y("y:Q"), text="name:N", color=colour, tooltip=["name:N", "role:N"])
    )
    return alt.layer(lines, names).properties(width=step * heads, height=260)


def branches(apart: NDArray[np.float64], points: list[Datum]) -> dict[str, list[Datum]]:
    """The data of `tree`: corners of its branches, and the heads below."""
    links = families.dendrogram(apart)
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
    order = families.leaf_order(links).tolist()
    rows = [
        {"branch": branch, "corner": corner, "x": x, "y": y, "colour": colour}
        for branch, (xs, ys, colour) in enumerate(
            zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True)
        )
        for corner, (x, y) in enumerate(zip(xs, ys, strict=True))
    ]
    leaves = [
        {"x": 10 * place + 5, "y": 0, "colour": colours[head]}
        | {key: points[head][key] for key in ("name", "role")}
        for place, head in enumerate(order)
    ]
    return {"branches": rows, "leaves": leaves}
