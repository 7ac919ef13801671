"""A model in a few sentences: its roles and where they sit, how redundant it is, what can go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from headscope._util.naming import head_name
from headscope.analyses._families.section import alike
from headscope.experiments.pruning.section import claim
from headscope.report.head_roles import RULES
from headscope.report.sections import Panel
from headscope.report.views import View
from headscope.runs import Results, rows_of

Row = dict[str, Any]
NEAR = 0.05
"""Nats of divergence: heads that are so near look nearly alike (two that have nothing in common
are 0.69 apart)."""
MANY = 6


def portrait(view: View, results: list[Results]) -> Panel | None:
    """The summary of a model on a corpus; None where nothing tells what its heads do."""
    roles = view.roles
    if not roles and not view.results.families.num_rows:
        return None
    model = view.model_record
    total = model["layers"] * model["heads"]
    held = {role.place for role in roles}
    rows = list(_roles(view))
    text = [
        f"{len(held)} of {total} heads of {model['name']} have a role on {view.corpus}, by rules "
        "whose thresholds are tested after correction; a head may have several.",
        *_redundancy(view, total), *_price(view, results),
    ]  # fmt: skip
    columns = ("role", "heads", "in layers", "the clearest", "threshold set by")
    return Panel(f"{model['name']} in short", text, columns=columns, rows=rows)


def _roles(view: View) -> Iterator[tuple[str, ...]]:
    """A line a role: how many heads have it, in which layers, and the clearest of them."""
    for rule in RULES:
        mine = [role for role in view.roles if role.rule is rule]
        places = list(dict.fromkeys(role.place for role in mine))
        if not places:
            continue
        layers: dict[int, int] = defaultdict(int)
        for layer, _ in places:
            layers[layer] += 1
        where = ", ".join(f"L{layer}: {count}" for layer, count in sorted(layers.items()))
        clearest = ", ".join(head_name(*place) for place in places[:MANY])
        least = f"{rule.source} ({rule.threshold:g})"
        yield rule.name, f"{len(places)}", where, clearest, least


def _redundancy(view: View, total: int) -> Iterator[str]:
    """How many heads have a near relative, and whether layers are alike."""
    rows = rows_of(view.results.families, corpus=view.corpus, weights=view.weights)
    if not rows:
        return
    near = [row for row in rows if row["distance"] < NEAR]
    closest = min(rows, key=lambda row: row["distance"])
    yield (
        f"Redundancy: {len(near)} of {total} heads have a relative that looks nearly alike (less "
        f"than {NEAR:g} nats of divergence); the closest pair is "
        f"{head_name(closest['layer'], closest['head'])} and "
        f"{head_name(closest['nearest_layer'], closest['nearest_head'])} "
        f"({closest['distance']:.3f}). {alike(view)}"
    )


def _price(view: View, results: list[Results]) -> Iterator[str]:
    """What can go at what price, where the model was pruned."""
    for one in results if view.weights != "random" else ():
        record = one.record
        if "pruned" in record and record["study"]["model"]["sha256"] == view.model_record["sha256"]:
            yield f"What can go, for {record['study']['task']['name']}: {claim(record)}"
