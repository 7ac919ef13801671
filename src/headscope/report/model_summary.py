"""A model in a few sentences: its roles and where they sit, and what runs of it found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headscope.report.catalogue import load_sections, role_rules
from headscope.report.head_cards import runs_of
from headscope.report.sections import Section, summary_lines
from headscope.report.views import CorpusView
from headscope.runs import RunResults

LISTED = 6
"""Heads that are named of each role."""


def model_summary(view: CorpusView, results: list[RunResults]) -> Section | None:
    """The summary of a model on a corpus; None where nothing says what its heads do."""
    load_sections()
    same = runs_of(view, results)
    lines = [line for function in summary_lines.functions for line in function(view, same)]
    if not view.roles and not lines:
        return None
    model = view.model
    total = sum(view.head_counts)
    with_role = {role.place for role in view.roles}
    text = [
        f"{len(with_role)} of {total} heads of {model.name} have a role on {view.corpus}"
        f"{view.results.of_attention}, by rules "
        "whose thresholds are tested after correction; a head may have several (the headline "
        "counts it once, by its most telling one).",
        *lines,
    ]
    columns = ("role", "heads", "in layers", "the clearest", "threshold set by")
    return Section(
        f"{model.name} in short{view.results.of_attention}",
        text,
        columns=columns,
        rows=list(_roles(view)),
    )


def _roles(view: CorpusView) -> Iterator[tuple[str, ...]]:
    """A line a role: how many heads have it, in which layers, and the clearest of them."""
    for _, rule in role_rules():
        places = list(dict.fromkeys(role.place for role in view.roles if role.rule is rule))
        if not places:
            continue
        layers: dict[int, int] = defaultdict(int)
        for layer, _ in places:
            layers[layer] += 1
        where = ", ".join(f"L{layer}: {count}" for layer, count in sorted(layers.items()))
        clearest = ", ".join(view.name(place) for place in places[:LISTED])
        least = f"{rule.source} ({rule.threshold:g})"
        yield rule.name, f"{len(places)}", where, clearest, least
