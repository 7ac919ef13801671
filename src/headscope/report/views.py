"""A view: one model on one corpus, as charts, lines and a table of heads."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope._util.naming import head_name
from headscope.analyses._families import section as families
from headscope.analyses._linking.section import (
    LINKING,
    Antecedents,
    Relation,
    antecedents,
    relations,
)
from headscope.analyses._shapes import section as patterns
from headscope.experiments.importance import section as importance
from headscope.experiments.probe import section as probe
from headscope.experiments.relevance import section as relevance
from headscope.report.arcs import Picture, picture
from headscope.report.charts import Chart, heat_map, layer_curve, profile
from headscope.report.head_roles import Label, Role, labelled, roles
from headscope.report.numbers import (
    Line,
    interval,
    number,
    striking,
)
from headscope.report.sections import Panel
from headscope.runs import Results, rows_of

Row = dict[str, Any]
MANY = 6
"""Groups beyond which an ordered profile says more than one map each."""


@dataclass(frozen=True)
class Headline:
    """A number per head that is worth a map: its words, its statistic, its group."""

    text: str
    analysis: str
    statistic: str
    direction: str | None
    group: str | None
    unit: str
    about: str


@dataclass(frozen=True)
class View:
    """One model, with trained or random weights, on one corpus."""

    results: Results
    corpus: str
    weights: str

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.model_record["name"])

    @property
    def model_record(self) -> Row:
        """What the run recorded of this model."""
        study = self.results.record["study"]
        record: Row = study.get("models", {}).get(self.weights, study["model"])
        return record

    @property
    def title(self) -> str:
        """The model and the corpus in words."""
        random = " with random weights" if self.weights == "random" else ""
        return f"{self.model}{random} on {self.corpus}"

    @cached_property
    def corpus_record(self) -> Row:
        """What the run recorded of this corpus."""
        corpora: list[Row] = self.results.record["corpora"]
        return next(
            one
            for one in corpora
            if one["corpus"] == self.corpus and one["weights"] == self.weights
        )

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of heads.parquet that belong to this view."""
        return rows_of(self.results.heads, corpus=self.corpus, weights=self.weights)

    @cached_property
    def headlines(self) -> list[Headline]:
        """What is worth a map, in the order of the analyses."""
        return [
            Headline(
                text, analysis["analysis"], statistic["statistic"], statistic["direction"],
                group or None, statistic["unit"], statistic["about"],
            )
            for analysis in self.results.record["analyses"]
            for statistic in analysis["statistics"]
            for group, text in statistic["headlines"].items()
        ]  # fmt: skip

    @cached_property
    def _by_headline(self) -> dict[tuple[str | None, ...], list[Row]]:
        found: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
        for row in self.rows:
            key = (row["analysis"], row["statistic"], row["direction"], row["group"])
            found[key].append(row)
        return found

    def of(self, line: Headline, level: str = "head") -> list[Row]:
        """The rows of a headline per head or per layer."""
        key = (line.analysis, line.statistic, line.direction, line.group)
        whole = level == "layer"
        return [
            row | {"series": line.text}
            for row in self._by_headline[key]
            if row["layer"] is not None and (row["head"] is None) is whole
        ]

    @property
    def lines(self) -> list[Line]:
        """The most striking heads."""
        return striking(self.results, self.corpus, self.weights)

    @cached_property
    def roles(self) -> list[Role]:
        """The roles that heads have earned."""
        return roles(self.results, self.corpus, self.weights)

    @property
    def labels(self) -> list[Label]:
        """The same by name and head."""
        return labelled(self.roles)

    @property
    def left_out(self) -> dict[str, str]:
        """Analyses that the corpus does not allow, and why."""
        reasons: dict[str, str] = self.results.record["left_out"].get(self.corpus, {})
        return reasons

    def relations(self, analysis: str) -> list[Relation]:
        """The relations of a treebank, or of a user's links, with their best heads."""
        return relations(self.results, self.corpus, self.weights, analysis)

    @property
    def antecedents(self) -> Antecedents | None:
        """Who finds antecedents how often."""
        return antecedents(self.results, self.corpus, self.weights)

    def scenes(self, analysis: str) -> list[tuple[str, list[Picture]]]:
        """Real sentences with the arcs of the annotation and of the best heads."""
        rows = rows_of(
            self.results.arcs, corpus=self.corpus, weights=self.weights, analysis=analysis
        )
        wanted: dict[tuple[str, str], float] = {}
        if analysis in LINKING:
            for one in self.relations(analysis):
                wanted[one.name, one.best.direction] = one.best.gain["value"]
            rows.sort(key=lambda row: -wanted.get((row["group"], row["direction"]), -1))
        found: dict[str, list[Picture]] = defaultdict(list)
        for row in rows:
            key = (row["group"], row["direction"])
            if wanted and key not in wanted:
                continue
            title = " ".join(
                [head_name(row["layer"], row["head"]), *(word for word in key if word)]
            )
            found[title].append(picture(row))
        return list(found.items())

    def charts(self) -> Iterator[tuple[Row, list[Chart]]]:
        """Every analysis with its charts."""
        for analysis in self.results.record["analyses"]:
            name = analysis["analysis"]
            lines = [line for line in self.headlines if line.analysis == name]
            charts = [*self._curves(name, lines), *self._maps(lines), *self._profiles(analysis)]
            if name in LINKING:
                charts += self._relation_maps(name)
            if name in self.boards:
                charts = [*self.boards[name].charts, *charts]
            if charts or (name in LINKING and self.relations(name)):
                yield analysis, charts

    @cached_property
    def boards(self) -> dict[str, Panel]:
        """What analyses have to show besides numbers per head."""
        made = {name: board(self) for name, board in BOARDS.items()}
        return {name: panel for name, panel in made.items() if panel is not None}

    def _curves(self, name: str, lines: list[Headline]) -> Iterator[Chart]:
        for unit in dict.fromkeys(line.unit for line in lines):
            group = [line for line in lines if line.unit == unit]
            layers = [row for line in group for row in self.of(line, "layer")]
            heads = [row for line in group for row in self.of(line)] or layers
            intervals = any(row["low"] is not None for row in layers)
            baseline = any(row["baseline"] is not None for row in layers)
            if layers:
                yield Chart(
                    f"{name}-by-layer-{unit}",
                    f"By layer, {'shares' if unit == 'share' else unit}",
                    "A point is a head, a line joins the means of the layers with their 95% "
                    f"intervals{'; dashed is the baseline' if baseline else ''}.",
                    layer_curve(
                        [line.text for line in group],
                        unit,
                        intervals,
                        baseline=baseline,
                    ),
                    heads,
                    layers,
                )

    def _maps(self, lines: list[Headline]) -> Iterator[Chart]:
        for line in lines:
            rows = self.of(line)
            if rows:
                slug = f"{line.analysis}-{line.text}".replace(" ", "-").replace(",", "")
                yield Chart(slug, line.text, "", heat_map(rows, line.unit), rows)

    def _relation_maps(self, analysis: str) -> Iterator[Chart]:
        """Where the heads sit that find the relations for which some head is sure."""
        sure = [one for one in self.relations(analysis) if one.best.sure and one.name != "all"]
        sure.sort(key=lambda one: -one.best.gain["value"])
        for one in sure[:MANY]:
            way = one.best.direction
            key = (analysis, "accuracy", way, one.name)
            rows = [row for row in self._by_headline[key] if row["head"] is not None]
            text = f"{one.name}, {way}: share of {one.n:,} found; best offset {one.offset} "
            yield Chart(
                f"{analysis}-{one.name}-{way}".replace(":", "-"),
                f"{one.name} ({way})",
                text + f"finds {number(one.baseline, 'share')}.",
                heat_map(rows, "share"),
                rows,
            )

    def _profiles(self, analysis: Row) -> Iterator[Chart]:
        for statistic in analysis["statistics"]:
            if len(statistic["groups"]) > MANY and _offsets(statistic["groups"]):
                rows = [
                    row
                    for row in self.rows
                    if row["analysis"] == analysis["analysis"]
                    and row["statistic"] == statistic["statistic"]
                    and row["head"] is not None
                ]
                yield Chart(
                    f"{analysis['analysis']}-profile",
                    "Profile over offsets",
                    "One map a layer: heads down, offsets across; -1 is the token before.",
                    profile(rows, statistic["groups"], statistic["unit"]),
                    rows,
                    wide=True,
                )

    def table(self) -> list[Row]:
        """One row a head: its labels and its headline numbers with their intervals."""
        labels = defaultdict(list)
        for label in self.labels:
            labels[label.head].append(label.short)
        heads: dict[str, Row] = {}
        for place, line in enumerate(self.headlines):
            for row in self.of(line):
                name = head_name(row["layer"], row["head"])
                cells = heads.setdefault(
                    name,
                    {"name": name, "layer": row["layer"], "head": row["head"],
                     "labels": ", ".join(labels[name]), "cells": [None] * len(self.headlines)},
                )["cells"]  # fmt: skip
                cells[place] = {
                    "value": row["value"],
                    "text": number(row["value"], line.unit),
                    "interval": interval(row, line.unit),
                    "baseline": number(row["baseline"], line.unit),
                    "q": row["q"],
                }
        return list(heads.values())

    def maps(self) -> list[Row]:
        """The texts whose maps can be looked at: tokens, and maps by layer and head."""
        texts: dict[str, Row] = {}
        for row in rows_of(self.results.maps, corpus=self.corpus, weights=self.weights):
            text = texts.setdefault(
                row["example"], {"id": row["example"], "tokens": row["tokens"], "maps": {}}
            )
            key = head_name(row["layer"], row["head"])
            text["maps"][key] = base64.b64encode(row["map"]).decode()
        return list(texts.values())


def _offsets(groups: list[str]) -> bool:
    """Whether groups are offsets, which have an order."""
    return all(group.lstrip("+-").isdecimal() for group in groups)


def views(results: list[Results]) -> list[View]:
    """All views of some runs."""
    return [
        View(one, corpus["corpus"], corpus["weights"])
        for one in results
        for corpus in one.record["corpora"]
    ]


BOARDS: dict[str, Callable[[View], Panel | None]] = {
    "distances": families.panel,
    "importance": importance.panel,
    "patterns": patterns.panel,
    "probe": probe.panel,
    "relevance": relevance.panel,
}
"""What analyses have to show besides numbers per head."""
