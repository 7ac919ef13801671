"""The papers' tables for a run: relations (Clark's table 1), antecedents (table 2), languages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from headscope._util.naming import head_name
from headscope.report import head_roles as heads
from headscope.report.numbers import interval, number, sure
from headscope.runs import Results, rows_of

Row = dict[str, Any]
LINKING = ("dependencies", "links")
WAYS = ("row", "column", "head-row")
FEW = 100
"""Relations with fewer instances are marked."""
SOURCES = {
    "nearest": "nearest mention",
    "head_match": "same head word, else nearest",
    "sieve": "rule sieve",
    "chance": "chance",
}


@dataclass(frozen=True)
class Found:
    """The best head for a relation in one direction, with its evidence."""

    direction: str
    accuracy: Row
    gain: Row

    @property
    def head(self) -> str:
        """Its name."""
        return head_name(self.accuracy["layer"], self.accuracy["head"])

    @property
    def sure(self) -> bool:
        """Above the best fixed offset, and above what its own offsets give, both corrected."""
        return self.gain["value"] > 0 and sure(self.gain) and sure(self.accuracy)

    @property
    def value(self) -> str:
        """Its accuracy in words."""
        return number(self.accuracy["value"], "share")

    @property
    def interval(self) -> str:
        """The interval of its accuracy in words."""
        return interval(self.accuracy, "share")


@dataclass(frozen=True)
class Relation:
    """A relation: the best fixed offset, and the best head in every direction."""

    name: str
    n: int
    offset: str
    baseline: float | None
    ways: dict[str, Found]

    @property
    def few(self) -> bool:
        """Whether the instances are fewer than the papers would report."""
        return self.n < FEW

    @property
    def best(self) -> Found:
        """The better of row and column: what Clark's table 1 reports."""
        both = [self.ways[way] for way in ("row", "column") if way in self.ways]
        return max(both, key=lambda found: found.accuracy["value"])

    @property
    def cells(self) -> tuple[str, ...]:
        """Relation, instances, head, direction, accuracy, interval, offset, its accuracy, mark."""
        best = self.best
        return (
            self.name + (" *" if self.few else ""),
            f"{self.n:,}",
            best.head,
            best.direction,
            best.value,
            best.interval,
            self.offset,
            number(self.baseline, "share"),
            "yes" if best.sure else "no",
        )


COLUMNS = (
    "relation", "n", "head", "direction", "accuracy", "95% interval", "offset", "baseline", "sure",
)  # fmt: skip


def relations(results: Results, corpus: str, weights: str, analysis: str) -> list[Relation]:
    """Every relation of a corpus, in the order of the analysis: all, then by frequency."""
    place = {"corpus": corpus, "weights": weights, "analysis": analysis}
    ways: dict[str, dict[str, Found]] = defaultdict(dict)
    gains = {
        (row["group"], row["direction"]): row
        for row in rows_of(results.chosen, statistic="gain", **place)
    }
    for row in rows_of(results.chosen, statistic="accuracy", **place):
        key = (row["group"], row["direction"])
        ways[row["group"]][row["direction"]] = Found(row["direction"], row, gains[key])
    offsets: dict[str, Row] = {}
    for row in rows_of(results.heads, statistic="fixed_offset", **place):
        if row["group"] not in offsets or row["value"] > offsets[row["group"]]["value"]:
            offsets[row["group"]] = row
    return [
        Relation(
            name,
            found["row"].accuracy["n"],
            offsets[name]["direction"],
            found["row"].accuracy["baseline"],
            found,
        )
        for name, found in ways.items()
    ]


def attachment(results: Results, corpus: str, weights: str, analysis: str) -> list[Row]:
    """Unlabelled attachment where every relation has its own best head, or offset."""
    place = {"corpus": corpus, "weights": weights, "analysis": analysis}
    return rows_of(results.heads, statistic="attachment", **place)


@dataclass(frozen=True)
class Antecedents:
    """Clark's table 2: who finds antecedents how often, by type of mention."""

    groups: list[str]
    lines: list[tuple[str, list[str]]]
    counts: list[int]


def antecedents(results: Results, corpus: str, weights: str) -> Antecedents | None:
    """The baselines and the best heads of a corpus; None where there are no mention chains."""
    place = {"corpus": corpus, "weights": weights, "analysis": "coreference"}
    best = rows_of(results.chosen, statistic="accuracy", **place)
    if not best:
        return None
    groups = [row["group"] for row in best]
    lines = []
    for name, text in SOURCES.items():
        rows = rows_of(results.heads, statistic=name, **place)
        known = {row["group"]: row for row in rows}
        lines.append((text, [_cell(known[group]) for group in groups]))
    cells = [f"{head_name(row['layer'], row['head'])} {_cell(row)}" for row in best]
    lines.append(("best head for each", cells))
    whole = best[0]
    place |= {"layer": whole["layer"], "head": whole["head"]}
    rows = rows_of(results.heads, statistic="accuracy", **place)
    same = {row["group"]: row for row in rows}
    text = f"{head_name(whole['layer'], whole['head'])} on all data"
    lines.append((text, [_cell(same[group]) for group in groups]))
    return Antecedents(groups, lines, [row["n"] for row in best])


def _cell(row: Row) -> str:
    return f"{number(row['value'], 'share')}\n{interval(row, 'share')}"


@dataclass(frozen=True)
class Role:
    """A head that finds a relation in several corpora.

    Attributes:
        held: corpora in which it is 10 points above the best fixed offset, corrected.
        asked: corpora that have the relation often enough.
        values: its accuracy in each of `asked`.
    """

    head: str
    relation: str
    direction: str
    held: list[str]
    asked: list[str]
    values: dict[str, float]


@dataclass(frozen=True)
class Across:
    """The best heads of every relation in every corpus, and the heads that keep their role."""

    corpora: list[str]
    relations: list[str]
    best: dict[tuple[str, str], Relation]
    roles: list[Role]


def across(results: Results, weights: str = "trained") -> Across | None:
    """Relation by corpus; None where fewer than two corpora have trees."""
    names = list(dict.fromkeys(one["corpus"] for one in results.record["corpora"]))
    tables = {name: relations(results, name, weights, "dependencies") for name in names}
    corpora = [name for name in names if tables[name]]
    if len(corpora) < 2:
        return None
    best = {(one.name, name): one for name in corpora for one in tables[name]}
    count: dict[str, int] = defaultdict(int)
    for relation, _ in best:
        count[relation] += 1
    ordered = sorted(count, key=lambda name: (name != "all", -count[name]))
    return Across(corpora, ordered, best, _roles(results, corpora, best, weights))


def _roles(
    results: Results, corpora: list[str], best: dict[tuple[str, str], Relation], weights: str
) -> list[Role]:
    place = {"weights": weights, "analysis": "dependencies"}
    held: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    accuracy = {
        (head_name(r["layer"], r["head"]), r["group"], r["direction"], r["corpus"]): r
        for r in rows_of(results.heads, statistic="accuracy", **place)
        if r["head"] is not None
    }
    for corpus in corpora:
        for one in heads.roles(results, corpus, weights):
            if one.rule.analysis == "dependencies":
                key = (head_name(*one.place), one.row["group"], one.row["direction"])
                held[key].append(corpus)
    roles = []
    for (head, relation, direction), where in held.items():
        asked = [name for name in corpora if (relation, name) in best]
        if len(where) > 1:
            found = {n: accuracy[head, relation, direction, n]["value"] for n in asked}
            roles.append(Role(head, relation, direction, where, asked, found))
    return sorted(roles, key=lambda one: (-len(one.held), -sum(one.values.values())))
