"""What the page's script reads: views, maps, examples and charts, each once, compressed.

Text from a corpus is inside base64: it cannot end the element that holds it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from headscope._util.naming import SELF, head_name
from headscope.evidence import Unit
from headscope.evidence.example_tables import MAPS
from headscope.report.analysis_findings import view_headline
from headscope.report.catalogue import load_sections
from headscope.report.charts import Chart
from headscope.report.examples import packed_examples
from headscope.report.findings import Finding, by_kind, finding_of, gains_of, strongest
from headscope.report.head_cards import Card
from headscope.report.joined import numbers_of
from headscope.report.numbers import number_key
from headscope.report.sections import HeadNumbers, head_relatives
from headscope.report.small_plots import Interval, interval_of, with_common_axis
from headscope.report.views import RANDOM, CorpusView
from headscope.runs import RunResults

Json = dict[str, Any]


@dataclass
class Payload:
    """Collects what the script reads.

    Attributes:
        views: of models on corpora.
        maps: the bytes of all maps, one after the other.
        examples: of each view, the texts on which its heads are shown.
        charts: as SVG, or a map of a text that the page draws by itself.
    """

    views: list[Json] = field(default_factory=list)
    maps: bytearray = field(default_factory=bytearray)
    examples: list[Json] = field(default_factory=list)
    charts: list[str | Json] = field(default_factory=list)

    def add_charts(self, charts: list[Chart]) -> int:
        """Add charts, but those of numbers that views have; returns the number of the first."""
        first = len(self.charts)
        self.charts += [self._chart(chart) for chart in charts]
        return first

    def _chart(self, chart: Chart) -> str | Json:
        if chart.headline:
            return ""
        if chart.page is not None:
            return chart.page()
        if chart.text_map is None:
            return chart.svg(background="transparent")
        row = chart.text_map
        tokens = {"tokens": row.tokens, "queries": row.queries or None}
        return {"kind": "map", "id": row.example, "at": self._add_map(row.map)} | tokens

    def add_view(
        self, number: int, view: CorpusView, results: list[RunResults], cards: dict[str, Card]
    ) -> None:
        """Add a model on a corpus, with what all runs say of its heads."""
        self.examples.append(packed_examples(view))
        heads = [
            view.name((layer, head))
            for layer, count in enumerate(view.head_counts)
            for head in range(count)
        ]
        self.views.append(
            {
                "title": view.title,
                "suffix": f"@{number}" if number else "",
                "random": view.weights == RANDOM,
                "short": self._short(view),
                "headline": view_headline(view),
                "lead": _lead(view),
                "layers": view.head_counts,
                "heads": heads,
                "roles": [shown_role(finding_of(view, role), view) for role in by_kind(view.roles)],
                "findings": [
                    shown_role(finding, view) | {"others": finding.others}
                    for finding in strongest(view)
                ],
                "best": _best(view),
                "lines": {name: card.further for name, card in cards.items() if card.further},
                "relatives": _relatives(view),
                "numbers": list(_numbers(number, view, heads)),
                "others": [packed_numbers(one, view) for one in numbers_of(view, results)],
                "texts": self._texts(view, heads),
            }
        )

    def add_text(self, title: str, text: Json, maps: dict[tuple[int, int], bytes]) -> None:
        """Add one text on which every head can be looked at, without statistics.

        Args:
            text: `id` and `tokens`.
            maps: by layer and head.
        """
        layers = [0] * (1 + max(layer for layer, _ in maps))
        for layer, _ in maps:
            layers[layer] += 1
        kept = {"queries": None, "at": [self._add_map(levels) for levels in maps.values()]}
        empty: Json = {"roles": [], "findings": [], "lines": {}, "relatives": {}, "numbers": []}
        empty |= {"others": [], "best": {}}
        self.examples.append({"texts": [], "numbers": {}})
        about = {
            "title": title,
            "suffix": "",
            "random": False,
            "short": title,
            "headline": title,
            "lead": " ".join(text["tokens"]),
        }
        heads = [head_name(*place) for place in maps]
        self.views.append(
            about | {"layers": layers, "heads": heads, "texts": [text | kept]} | empty
        )

    def _short(self, view: CorpusView) -> str:
        """A name that no other view has: with its experiment, then with a number."""
        known = {other["short"] for other in self.views}
        kind = "" if view.attention == SELF else f"{view.attention}: "
        title = kind + view.title.removesuffix(view.results.of_attention)
        names = [title, f"{title} ({view.results.record.study.experiment})"]
        names += [f"{title} ({number})" for number in range(2, len(known) + 3)]
        return next(name for name in names if name not in known)

    def packed(self) -> dict[str, str]:
        """Each part as deflated bytes in base64."""
        return {
            "views": _packed(_json(self.views)),
            "maps": _packed(bytes(self.maps)),
            "examples": _packed(_json(self.examples)),
            "charts": _packed(_json(self.charts)),
        }

    def _add_map(self, levels: bytes) -> int:
        at = len(self.maps)
        self.maps += levels
        return at

    def _texts(self, view: CorpusView, heads: list[str]) -> list[Json]:
        places = {head: place for place, head in enumerate(heads)}
        texts: dict[str, Json] = {}
        for row in view.results.rows(MAPS, corpus=view.corpus, weights=view.weights):
            if view.weights == RANDOM and texts and row.example not in texts:
                continue  # one text of an untrained model is enough to see that it has no pattern
            text = texts.setdefault(
                row.example,
                {
                    "id": row.example,
                    "tokens": row.tokens,
                    "queries": row.queries or None,
                    "at": [-1] * len(heads),
                },
            )
            text["at"][places[view.name((row.layer, row.head))]] = self._add_map(row.map)
        return list(texts.values())


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _lead(view: CorpusView) -> str:
    record = view.corpus_record
    analyses = len(view.analyses)
    model = view.model.name + (" with random weights" if view.weights == RANDOM else "")
    return (
        f"{model}, {view.model.shape} · {view.corpus}, {record.examples:,} texts, "
        f"{record.pieces:,} pieces · {analyses} analys{'is' if analyses == 1 else 'es'}"
    )


def shown_role(finding: Finding, view: CorpusView) -> Json:
    """A role of a head, as the script reads it."""
    row, rule = finding.row, finding.role.rule
    return {
        "examples": _key_of(finding, view),
        "head": view.name(row.place),
        "role": rule.name,
        "kind": rule.kind,
        "mark": (rule.mark or rule.name[:6]).format(group=finding.role.row.group),
        "title": finding.title,
        "sentence": finding.role.sentence,
        "text": finding.evidence,
        "value": row.value,
        "low": row.low,
        "high": row.high,
        "baseline": row.baseline,
        "percent": finding.unit.percent,
        "signed": finding.unit.signed,
    }


def _key_of(finding: Finding, view: CorpusView) -> str | None:
    """The number by which texts were chosen on which the head shows a role."""
    role, row = finding.role, finding.row
    statistic = role.rule.confirmed_by or role.row.statistic
    key = number_key(role.analysis, statistic, role.row.direction, role.row.group)
    return key if (key, row.name) in view.examples else None


def _best(view: CorpusView) -> dict[str, list[Json]]:
    """By head, what it is surely good at, the largest gains first."""
    by_head: dict[str, list[Json]] = defaultdict(list)
    for finding in gains_of(view):
        by_head[finding.row.name].append(shown_role(finding, view))
    return by_head


def packed_numbers(numbers: HeadNumbers, view: CorpusView) -> Json:
    """A number of every head from another run, as the script reads it."""
    places = list(numbers.rows)
    rows = with_common_axis([numbers.rows[place] for place in places])
    number = numbers.unit.number
    return {
        "title": numbers.title,
        "about": numbers.about,
        "line": numbers.line,
        "signed": numbers.unit.signed,
        "ends": [number(end) for end in rows[0].domain] if rows else [],
        "rows": {
            view.name(place): [*row.numbers, number(row.value), _interval(row, numbers.unit)]
            for place, row in zip(places, rows, strict=True)
        },
    }


def _interval(row: Interval, unit: Unit) -> str:
    return "" if row.low is None else unit.interval(row.low, row.high)


def _relatives(view: CorpusView) -> dict[str, list[tuple[str, float]]]:
    load_sections()
    near: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for relatives in head_relatives.functions:
        for head, others in relatives(view).items():
            near[head] += [(name, round(apart, 4)) for name, apart in others]
    return near


def _numbers(number: int, view: CorpusView, heads: list[str]) -> Any:
    places = {head: place for place, head in enumerate(heads)}
    for line in view.headlines:
        cells: list[Any] = [None] * len(heads)
        for row in view.of(line):
            unit = line.unit
            cells[places[view.name(row.place)]] = (
                round(row.value, 6),
                unit.number(row.value),
                row.interval(unit),
                unit.number(row.baseline),
                *(
                    None if end is None else round(end, 6)
                    for end in (row.baseline, row.low, row.high)
                ),
                interval_of(row).sure,
            )
        if any(cell is not None for cell in cells):
            yield {
                "title": line.text,
                "key": number_key(line.analysis, line.statistic, line.direction, line.group),
                "about": line.about,
                "section": f"view-{number}-{line.analysis}",
                "bounded": line.unit.bounded,
                "signed": line.unit.signed,
                "cells": cells,
            }
