"""What the passes of a study brought in, as tables and as the run's record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import torch

from headscope.analyses import Analysis, Inputs, described
from headscope.analyses._shapes.classifier import SHAPES
from headscope.analyses.patterns import Patterns
from headscope.corpus import Pieces, bucket_of
from headscope.evidence import Harvest, Statistic, best_rows, rows
from headscope.experiments._shared.loss_gradients import Gradients
from headscope.experiments.scan.maps import MAPS
from headscope.experiments.scan.passes import Pass
from headscope.runs import Results, table_of
from headscope.runs.results import arcs_table, extra_table, maps_table

Row = dict[str, Any]


@dataclass
class Gathered:
    """Collects tables pass by pass."""

    begun: float = field(default_factory=time.perf_counter)
    heads: list[dict[str, list[Any]]] = field(default_factory=list)
    best: list[dict[str, list[Any]]] = field(default_factory=list)
    maps: list[pa.Table] = field(default_factory=list)
    arcs: list[Row] = field(default_factory=list)
    extra: dict[str, list[dict[str, list[Any]]]] = field(default_factory=dict)
    analyses: dict[str, Row] = field(default_factory=dict)
    corpora: dict[tuple[str, str], Row] = field(default_factory=dict)

    def add(self, one: Pass, harvest: Harvest) -> None:
        """Take in what a pass brought in."""
        place = (one.corpus.name, one.model.weights)
        for analysis in one.restore(harvest):
            found = list(analysis.statistics())
            self.heads.append(rows(found, analysis.name, *place))
            best = best_rows(found, analysis.name, *place)
            self.best.append(best)
            self.arcs += scenes(analysis, best, harvest)
            self.describe(type(analysis), found)
            self.take_tables(analysis, *place)
        self.note(one, place[1], harvest)

    def take(
        self, kind: type[Gradients], found: list[Statistic], corpus: str, weights: str
    ) -> None:
        """Take in what an experiment found on a corpus."""
        self.heads.append(rows(found, kind.name, corpus, weights))
        self.best.append(best_rows(found, kind.name, corpus, weights))
        self.analyses.setdefault(kind.name, described(kind.name, kind, found))

    def take_tables(self, analysis: Analysis, corpus: str, weights: str) -> None:
        """Keep what an analysis gives besides numbers per head."""
        for name, columns in analysis.tables().items():
            size = len(next(iter(columns.values())))
            place = {"corpus": [corpus] * size, "weights": [weights] * size}
            self.extra.setdefault(name, []).append(place | columns)

    def note(self, one: Pass, weights: str, harvest: Harvest, prefix: str = "") -> None:
        """Keep what a pass was made on, and its maps; `prefix` stands before names in a harvest."""
        place = (one.corpus.name, weights)
        if place not in self.corpora:  # texts come before windows
            maps = harvest.exemplars[f"{prefix}{MAPS}"]
            shapes = harvest.exemplars.get(f"{prefix}{Patterns.name} ")
            self.maps.append(maps_table(maps, *place, shapes, SHAPES))
            self.corpora[place] = {"corpus": place[0], "weights": place[1]} | sizes(one)
        if one.inputs is Inputs.WINDOWS:
            limit = one.options.max_length or one.model.max_length
            self.corpora[place]["windows"] = sizes(one) | {"limit": limit}

    def describe(self, kind: type[Analysis], found: list[Statistic]) -> None:
        """Keep what the numbers are; corpora may differ in their groups."""
        known = self.analyses.setdefault(kind.name, described(kind.name, kind, []))
        for statistic in (one.describe() for one in found):
            key = (statistic["statistic"], statistic["direction"])
            for other in known["statistics"]:
                if (other["statistic"], other["direction"]) == key:
                    other["groups"] += [g for g in statistic["groups"] if g not in other["groups"]]
                    break
            else:
                known["statistics"].append(statistic)

    def record(self) -> Row:
        """What the run's record keeps of the numbers."""
        return {
            "tables": ["heads", "chosen", "maps", "arcs", *self.extra],
            "analyses": list(self.analyses.values()),
            "corpora": list(self.corpora.values()),
            "seconds": round(time.perf_counter() - self.begun, 1),
            "threads": torch.get_num_threads(),
        }

    def results(self, record: Row) -> Results:
        """Everything as tables."""
        tables = (table_of(self.heads), table_of(self.best), pa.concat_tables(self.maps))
        extra = {name: extra_table(name, parts) for name, parts in self.extra.items()}
        return Results(record | self.record(), *tables, arcs_table(self.arcs), **extra)


def sizes(one: Pass) -> Row:
    """What a reader must know of the inputs to judge the numbers."""
    return {
        "examples": one.survey.examples,
        "pieces": one.survey.pieces,
        "longest": one.survey.longest,
        "cut": one.survey.cut,
        "lost": one.survey.lost,
        "buckets": len(one.survey.units),
    }


def sizes_of(texts: Sequence[Pieces], examples: int) -> Row:
    """The same of texts that are at hand, for so many examples."""
    return {
        "examples": examples,
        "pieces": sum(len(one) for one in texts),
        "longest": max(len(one) for one in texts),
        "cut": sum(one.lost > 0 for one in texts),
        "lost": sum(one.lost for one in texts),
        "buckets": len({bucket_of(one.example.unit) for one in texts}),
    }


def scenes(analysis: Analysis, best: dict[str, list[Any]], harvest: Harvest) -> list[Row]:
    """What the best heads of an analysis do on the exemplars of their group."""
    made = []
    for values in zip(*best.values(), strict=True):
        row = dict(zip(best, values, strict=True))
        if row["statistic"] != analysis.shown:
            continue
        for name in analysis.exemplary(row["group"]):
            for exemplar in harvest.exemplars.get(f"{analysis.name} {name}", ()):
                scene = analysis.scene(exemplar, row)
                made.append(
                    row
                    | {"example": scene.example, "words": list(scene.words)}
                    | {"source": [arc.source for arc in scene.arcs]}
                    | {"gold": [list(arc.gold) for arc in scene.arcs]}
                    | {"drawn": [arc.drawn for arc in scene.arcs]}
                    | {"right": [arc.right for arc in scene.arcs]}
                )
    return made
