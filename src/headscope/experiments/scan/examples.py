"""Examples by score: texts on which heads are shown at work, and which of them a run keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses import Analysis
from headscope.analyses.base import ScoredMean
from headscope.corpus import Pieces, stable_hash
from headscope.corpus.display import has_readable_length
from headscope.evidence import (
    BestHead,
    Candidates,
    HeadRow,
    Layout,
    RankedExamples,
    RoleRule,
    ShownText,
)
from headscope.evidence.example_tables import ArcsRow
from headscope.evidence.ranked_examples import Number
from headscope.evidence.role_rule import ANY
from headscope.model.attention import Largest, Request, Seen, View

Place = tuple[int, int]
"""Layer and head."""


class StrongestLinks:
    """Collects where each token of a readable text looks most, for every head."""

    def __init__(self, shard: list[Pieces]) -> None:
        self._shown = {id(pieces): pieces for pieces in shard if has_readable_length(pieces)}
        self._queries: dict[int, Pieces] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {key: [] for key in self._shown}

    def ask(self, view: View) -> dict[str, Request]:
        """The largest weight of every row, where a text of the batch can be shown."""
        if not any(id(pieces) in self._shown for pieces in view.pieces):
            return {}
        return {"peak": Largest(view.keys.real)}

    def observe(self, seen: Seen) -> None:
        """Keep the keys with the largest weights of one layer, and the weights in 255 steps."""
        peak, view = seen["peak"], seen.view
        place = peak.place.cpu().numpy().astype(np.int16)
        level = peak.value.mul(255).round().cpu().numpy().astype(np.int16)
        for example, pieces in enumerate(view.pieces):
            if id(pieces) in self._shown:
                queries = view.queries.pieces[example]
                self._queries[id(pieces)] = queries
                rows = [part[example, :, : len(queries)] for part in (place, level)]
                self._drawn[id(pieces)].append(np.concatenate(rows, 1))

    def texts(self, tokens: Callable[[Pieces], list[str]]) -> dict[int, ShownText]:
        """By identity of their pieces, the texts that were seen with what every head does."""
        seen = {}
        for key, queries in self._queries.items():
            pieces = self._shown[key]
            record = {"tokens": tokens(pieces)}
            if queries is not pieces:
                record["queries"] = tokens(queries)
            name = pieces.example.id
            drawn = np.concatenate(self._drawn[key])  # (head of all layers, place then level)
            seen[key] = ShownText(name, stable_hash(name), record, drawn)
        return seen


def scored_by_means(
    scored: Sequence[ScoredMean], texts: dict[int, ShownText], layout: Layout
) -> Iterator[Candidates]:
    """Readable texts with the means that heads have on each of them."""
    shown = list(texts.values())
    rows = {key: row for row, key in enumerate(texts)}
    starts = np.cumsum([0, *layout.head_counts])
    for each in scored:
        assert each.mean.by_text is not None  # asked for when the shard began
        columns = list(each.groups.values())
        scores = np.full((len(shown), starts[-1], len(columns)), np.nan, np.float32)
        for layer, pieces, means in each.mean.by_text:
            wanted = [(n, rows[id(text)]) for n, text in enumerate(pieces) if id(text) in rows]
            if wanted:
                examples, places = map(list, zip(*wanted, strict=True))
                heads = slice(starts[layer], starts[layer + 1])
                own = means[examples][:, : starts[layer + 1] - starts[layer]]
                scores[places, heads] = own[..., columns]
        for place, group in enumerate(each.groups):
            own = scores[..., place]
            yield Candidates(each.statistic, own, shown, group or None, each.direction)


@dataclass(frozen=True)
class Measured:
    """What an analysis measured in a pass, with the examples that it kept."""

    analysis: Analysis
    heads: list[HeadRow]
    best: list[BestHead]
    examples: RankedExamples


def example_rows(every: Sequence[Measured], layout: Layout) -> Iterator[ArcsRow]:
    """Examples of every number's best head and of every head that reaches the threshold of a
    role; of a head that reaches none, those of the role that it comes closest to.
    """
    shown: set[Place] = set()
    closest: dict[Place, tuple[float, Measured, Number]] = {}
    for measured in every:
        wanted: dict[tuple[Number, Place], HeadRow | BestHead] = {
            ((row.statistic, row.direction, row.group), row.place): row for row in measured.best
        }
        for rule in measured.analysis.roles:
            for number, row in _rows_of(rule, measured):
                if row.value >= rule.threshold:
                    wanted[number, row.place] = row
                near = row.value - rule.threshold
                if row.place not in closest or near > closest[row.place][0]:
                    closest[row.place] = (near, measured, number)
        for (number, place), row in wanted.items():
            scenes = list(_scenes(measured, number, row, layout))
            shown |= {place} if scenes else set()
            yield from scenes
    for place, (_, measured, number) in closest.items():
        if place not in shown:
            row = next(row for row in measured.heads if row.head is not None and row.place == place)
            yield from _scenes(measured, number, row, layout)


def _rows_of(rule: RoleRule, measured: Measured) -> Iterator[tuple[Number, HeadRow]]:
    """The numbers of heads that a rule is about, and of which there are examples."""
    numbers = set(measured.examples.numbers)
    for row in measured.heads:
        if row.head is None or row.statistic != rule.statistic or not _is_about(rule, row):
            continue
        number = (rule.confirmed_by or row.statistic, row.direction, row.group)
        if number in numbers:
            yield number, row


def _is_about(rule: RoleRule, row: HeadRow) -> bool:
    named = row.group in rule.groups if rule.groups else row.group not in rule.excluded
    return named and rule.direction in (ANY, row.direction)


def _scenes(
    measured: Measured, number: Number, row: HeadRow | BestHead, layout: Layout
) -> Iterator[ArcsRow]:
    """What a head does on the examples of a number."""
    statistic, direction, group = number
    places = [(layout.named(layer)[1], head) for layer, head in layout.places]
    for example in measured.examples.examples(number, places.index(row.place)):
        scene = measured.analysis.render_example(example, number)
        yield ArcsRow(
            corpus=row.corpus,
            weights=row.weights,
            analysis=row.analysis,
            statistic=statistic,
            group=group,
            direction=direction,
            attention=row.attention,
            layer=row.place[0],
            head=row.place[1],
            example=scene.example,
            words=list(scene.words),
            queries=list(scene.queries),
            source=[arc.source for arc in scene.arcs],
            gold=[list(arc.gold) for arc in scene.arcs],
            drawn=[arc.drawn for arc in scene.arcs],
            right=[arc.right for arc in scene.arcs],
            weight=[arc.weight for arc in scene.arcs if arc.weight is not None],
            choice=str(example.choice),
            score=round(example.score, 4),
        )
