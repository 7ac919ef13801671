"""What a run found, as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headscope.errors import RunError
from headscope.evidence import COLUMNS, Exemplars

HEADS = pa.schema(
    [(name, pa.string()) for name in COLUMNS[:6]]
    + [(name, pa.int32()) for name in ("layer", "head")]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("n", pa.int64())]
    + [(name, pa.float64()) for name in ("baseline", "p", "q")]
)
MAPS = pa.schema(
    [(name, pa.string()) for name in ("corpus", "weights", "example")]
    + [("layer", pa.int32()), ("head", pa.int32())]
    + [("tokens", pa.list_(pa.string())), ("map", pa.binary())]
    + [("shape", pa.string()), ("probability", pa.float64())]
)
ABLATION = pa.schema(
    [(name, pa.string()) for name in ("task", "metric", "unit", "name")]
    + [("layer", pa.int32()), ("head", pa.int32())]
    + [(name, pa.float64()) for name in ("value", "delta", "low", "high", "p", "q")]
    + [("n", pa.int64()), ("changed", pa.int64()), ("verdict", pa.string())]
)
"""One row per metric and per head, layer or set that was off: the metric without it, the paired
difference from the intact model, how many examples were tried and how many predictions changed."""
PLACE = [
    ("corpus", pa.string()),
    ("weights", pa.string()),
    ("layer", pa.int32()),
    ("head", pa.int32()),
]
DISTANCES = pa.schema(
    PLACE
    + [("other_layer", pa.int32()), ("other_head", pa.int32())]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("n", pa.int64())]
)
"""One row per pair of heads: their mean Jensen-Shannon divergence in nats, over n rows."""
FAMILIES = pa.schema(
    PLACE
    + [(name, pa.float64()) for name in ("x", "y", "stress")]
    + [(name, pa.int32()) for name in ("cluster", "nearest_layer", "nearest_head")]
    + [("distance", pa.float64())]
)
"""One row per head: where scaling puts it, its cluster, its nearest relative."""
IMPORTANCE = pa.schema(
    [("task", pa.string()), ("layer", pa.int32()), ("head", pa.int32())]
    + [(name, pa.float64()) for name in ("value", "low", "high", "normalised")]
    + [(name, pa.int32()) for name in ("rank", "rank_low", "rank_high")]
    + [("n", pa.int64())]
)
"""One row per head: how much a task's loss feels it; its rank with a 95% interval."""
PROBES = pa.schema(
    [(name, pa.string()) for name in ("corpus", "probe", "weights", "measure")]
    + [(name, pa.float64()) for name in ("value", "low", "high", "spread")]
    + [("n", pa.int64())]
)
"""One row per probe or baseline, whose attention it sees, and measure: UAS by argmax or as trees,
LAS, the control task, selectivity; over n words; spread: the deviation over seeds."""
PRUNING = pa.schema(
    [(name, pa.string()) for name in ("task", "metric", "method", "part")]
    + [(name, pa.int32()) for name in ("draw", "kept", "heads")]
    + [(name, pa.float64()) for name in ("value", "delta", "low", "high")]
    + [("n", pa.int64()), ("changed", pa.int64())]
)
"""One row per metric, way of choosing heads, order (draw), part of the data and number of heads
kept: the metric, and the paired difference from the intact model."""
REMOVALS = pa.schema(
    [("method", pa.string())] + [(name, pa.int32()) for name in ("draw", "place", "layer", "head")]
)
"""In which order heads go, by each way of choosing: place 0 goes first."""
GATES = pa.schema(
    [("task", pa.string()), ("seed", pa.int32()), ("penalty", pa.float64()),
     ("layer", pa.int32()), ("head", pa.int32()), ("chance", pa.float64()), ("open", pa.bool_())]
)  # fmt: skip
"""One row per seed, penalty and head: how likely its gate is open, and whether it is."""
FORMAT = 7
"""Of the run folder; the record says which one it is. A new table leaves old runs readable."""
ARCS = pa.schema(
    [(name, pa.string()) for name in COLUMNS[:6]]
    + [("layer", pa.int32()), ("head", pa.int32()), ("example", pa.string())]
    + [("words", pa.list_(pa.string())), ("source", pa.list_(pa.int32()))]
    + [("gold", pa.list_(pa.list_(pa.int32()))), ("drawn", pa.list_(pa.int32()))]
    + [("right", pa.list_(pa.bool_()))]
)
"""One row per example of a best head: the words asked about, what the annotation links them to,
the words that the head chooses (-1: none, or none that is shown), and whether that is right."""
TABLES = {
    "heads": ("heads.parquet", HEADS),
    "chosen": ("best.parquet", HEADS),
    "maps": ("maps.parquet", MAPS),
    "arcs": ("arcs.parquet", ARCS),
    "ablation": ("ablation.parquet", ABLATION),
    "distances": ("distances.parquet", DISTANCES),
    "families": ("families.parquet", FAMILIES),
    "importance": ("importance.parquet", IMPORTANCE),
    "probes": ("probes.parquet", PROBES),
    "pruning": ("pruning.parquet", PRUNING),
    "removals": ("removals.parquet", REMOVALS),
    "gates": ("gates.parquet", GATES),
}
"""The tables of `Results`, their files in a run folder and what they hold."""


def table_of(rows: list[dict[str, list[Any]]]) -> pa.Table:
    """One tidy table of the rows of many statistics."""
    parts = [pa.table({name: part[name] for name in COLUMNS}, schema=HEADS) for part in rows]
    return pa.concat_tables([HEADS.empty_table(), *parts])


def maps_table(
    exemplars: Exemplars, corpus: str, weights: str, shapes: Exemplars | None, names: Sequence[str]
) -> pa.Table:
    """One row per text, layer and head; `map` is uint8 (query, key), 255 for a weight of 1.

    Args:
        shapes: of the same texts, how likely each map has each shape; names: of the shapes.
    """
    likely = {one.id: one.arrays["probabilities"] for one in shapes or ()}

    def shape_of(example: str, layer: int, head: int) -> dict[str, Any]:
        if example not in likely:
            return {"shape": None, "probability": None}
        found = likely[example][layer, head]
        return {"shape": names[int(found.argmax())], "probability": float(found.max())}

    rows = [
        {"corpus": corpus, "weights": weights, "example": one.id, "layer": layer, "head": head,
         "tokens": one.record["tokens"],
         "map": np.ascontiguousarray(one.arrays["maps"][layer, head]).tobytes()}
        | shape_of(one.id, layer, head)
        for one in exemplars
        for layer in range(one.arrays["maps"].shape[0])
        for head in range(one.arrays["maps"].shape[1])
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=MAPS)


def arcs_table(scenes: list[dict[str, Any]]) -> pa.Table:
    """What the best heads do on a few annotated texts."""
    names = ARCS.names
    return pa.Table.from_pylist([{name: one[name] for name in names} for one in scenes], ARCS)


def extra_table(name: str, parts: list[dict[str, list[Any]]]) -> pa.Table:
    """A table of `TABLES` from columns, part by part."""
    schema = TABLES[name][1]
    return pa.concat_tables(
        [schema.empty_table(), *(pa.table(one, schema=schema) for one in parts)]
    )


def rows_of(table: pa.Table, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of a table in which every column named has the value wanted."""
    for column, value in wanted.items():
        table = table.filter(pc.equal(table[column], value))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@dataclass
class Results:
    """The record of a run and its tables.

    Attributes:
        record: what run.json holds; its `tables` are those that the run makes.
        heads: one row per number (see `evidence.COLUMNS`).
        chosen: the best heads, cross-fitted (best.parquet); the same columns.
        maps: attention maps of a few texts.
        arcs: what the best heads do on a few annotated texts.
        ablation: what a task's metric is without a head, a layer, a set of heads.
        distances: how differently any two heads look.
        families: heads in a plane and in clusters, by these distances.
        importance: how much a task's loss feels each head.
        probes: parsers made of attention, and their baselines.
        pruning: what a task's metric is as heads go.
        removals: in which order they go.
        gates: which gates stay open as open gates cost more.

    The tables that a run does not make are empty.
    """

    record: dict[str, Any]
    heads: pa.Table = field(default_factory=HEADS.empty_table)
    chosen: pa.Table = field(default_factory=HEADS.empty_table)
    maps: pa.Table = field(default_factory=MAPS.empty_table)
    arcs: pa.Table = field(default_factory=ARCS.empty_table)
    ablation: pa.Table = field(default_factory=ABLATION.empty_table)
    distances: pa.Table = field(default_factory=DISTANCES.empty_table)
    families: pa.Table = field(default_factory=FAMILIES.empty_table)
    importance: pa.Table = field(default_factory=IMPORTANCE.empty_table)
    probes: pa.Table = field(default_factory=PROBES.empty_table)
    pruning: pa.Table = field(default_factory=PRUNING.empty_table)
    removals: pa.Table = field(default_factory=REMOVALS.empty_table)
    gates: pa.Table = field(default_factory=GATES.empty_table)

    @classmethod
    def read(cls, folder: Path | str) -> Results:
        """Read a finished run folder."""
        folder = Path(folder)
        try:
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            status = record["status"]
        except (OSError, json.JSONDecodeError, KeyError):
            raise RunError(f"{folder} is not a run folder: it has no readable run.json") from None
        if status != "complete":
            how = "run the same command again to finish it"
            raise RunError(f"{folder} holds a run that is not finished; {how}")
        if record.get("format") != FORMAT:
            raise RunError(f"{folder} was written by another version of headscope; run it again")
        try:
            tables = {name: pq.read_table(folder / TABLES[name][0]) for name in record["tables"]}
        except (OSError, pa.ArrowException) as error:
            raise RunError(f"{folder} is damaged: {error}") from None
        return cls(record, **tables)
