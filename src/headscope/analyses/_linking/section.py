"""The page of linked words: the best head for each relation (Clark's table 1), by corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from headscope._util.naming import head_name
from headscope.evidence import BEST, HEADS, BestHead, HeadRow, Unit
from headscope.evidence.example_tables import ARCS
from headscope.report.arcs import Picture, picture
from headscope.report.charts import Chart, head_datum, heat_map
from headscope.report.head_roles import head_roles
from headscope.report.sections import Cell, Section, analysis_section, run_sections
from headscope.report.views import CorpusView
from headscope.runs import RunResults

DIRECTIONS = ("row", "column", "head-row")
FEW = 100
"""Relations with fewer instances are marked."""
MAPS = 6
"""Relations whose heads are mapped."""
number = Unit.SHARE.number


@dataclass(frozen=True)
class BestForRelation:
    """The best head for a relation in one direction, with its evidence."""

    accuracy: BestHead
    gain: BestHead

    @property
    def head(self) -> str:
        """Its name."""
        return self.accuracy.name

    @property
    def sure(self) -> bool:
        """Above the best fixed offset, and above what its own offsets give, both corrected."""
        return self.gain.value > 0 and self.gain.sure and self.accuracy.sure

    @property
    def value(self) -> str:
        """Its accuracy in words."""
        return number(self.accuracy.value)


@dataclass(frozen=True)
class Relation:
    """A relation: the best fixed offset, and the best head in every direction."""

    name: str
    n: int
    offset: str
    baseline: float | None
    directions: dict[str, BestForRelation]

    @property
    def few(self) -> bool:
        """Whether the instances are fewer than the papers would report."""
        return self.n < FEW

    @property
    def best(self) -> BestForRelation:
        """The better of row and column: what Clark's table 1 reports."""
        both = (self.directions[way] for way in ("row", "column") if way in self.directions)
        return max(both, key=lambda best: best.accuracy.value)

    @property
    def cells(self) -> tuple[Cell | str, ...]:
        """Relation, instances, the best fixed offset, and the best head of every direction."""
        cells: list[Cell | str] = [
            self.name + (" *" if self.few else ""),
            f"{self.n:,}",
            f"{self.offset}: {number(self.baseline)}",
        ]
        for direction in DIRECTIONS:
            best = self.directions[direction]
            note = best.accuracy.interval(Unit.SHARE)
            if direction == "head-row":
                note += f" offset {number(best.accuracy.baseline)}"
            cells.append(Cell(best.head, head=best.head))
            cells.append(Cell(best.value, note, strong=best.sure))
        return tuple(cells)


def relations(results: RunResults, corpus: str, weights: str, analysis: str) -> list[Relation]:
    """Every relation of a corpus, in the order of the analysis: all, then by frequency."""
    place = {"corpus": corpus, "weights": weights, "analysis": analysis}
    by_relation: dict[str, dict[str, BestForRelation]] = defaultdict(dict)
    gains = {
        (row.group, row.direction): row for row in results.rows(BEST, statistic="gain", **place)
    }
    for row in results.rows(BEST, statistic="accuracy", **place):
        best = BestForRelation(row, gains[row.group, row.direction])
        by_relation[str(row.group)][str(row.direction)] = best
    offsets: dict[str, HeadRow] = {}
    for offset in results.rows(HEADS, statistic="fixed_offset", **place):
        relation = str(offset.group)
        if relation not in offsets or offset.value > offsets[relation].value:
            offsets[relation] = offset
    return [
        Relation(
            name,
            directions["row"].accuracy.n,
            str(offsets[name].direction),
            directions["row"].accuracy.baseline,
            directions,
        )
        for name, directions in by_relation.items()
    ]


@analysis_section("dependencies")
def dependencies_section(view: CorpusView) -> Section | None:
    """The relations of a treebank."""
    return make_section(view, "dependencies")


@analysis_section("links")
def links_section(view: CorpusView) -> Section | None:
    """The links that a user has brought."""
    return make_section(view, "links")


def make_section(view: CorpusView, analysis: str) -> Section:
    """The section of one of the analyses of linked words."""
    rows = relations(view.results, view.corpus, view.weights, analysis)
    if not rows:
        return Section(
            analysis, ["No relation is frequent enough to be reported (see --min-count)."]
        )
    few = " * fewer than 100 instances." if any(row.few for row in rows) else ""
    text = (
        "The best head in every direction, cross-fitted, with its 95% interval. Row: whom the word "
        "looks at; column: who looks at the word; head-row: whether what it is linked to looks at "
        "it. Bold: above the best fixed offset, and above what the head's own offsets would "
        f"score, both after correction (q below .05).{few}"
    )
    headings = (heading for way in DIRECTIONS for heading in (f"{way}: head", way))
    return Section(
        analysis,
        [text, *_attachment(view, analysis)],
        list(_relation_maps(view, analysis, rows)),
        ("relation", "n", "best offset", *headings),
        [row.cells for row in rows],
        pictures=_pictures(view, analysis, rows),
    )


def _attachment(view: CorpusView, analysis: str) -> Iterator[str]:
    """Unlabelled attachment where every relation has its own best head, or offset."""
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": analysis}
    for row in view.results.rows(HEADS, statistic="attachment", **place):
        value = f"{number(row.value)} {row.interval(Unit.SHARE)}"
        yield f"Unlabelled attachment with the {row.group}: {value}."


def _relation_maps(view: CorpusView, analysis: str, rows: list[Relation]) -> Iterator[Chart]:
    """Where the heads sit that find the relations for which some head is sure."""
    sure = [row for row in rows if row.best.sure and row.name != "all"]
    sure.sort(key=lambda row: -row.best.gain.value)
    for row in sure[:MAPS]:
        way = str(row.best.accuracy.direction)
        heads = [head_datum(head) for head in view.head_rows(analysis, "accuracy", way, row.name)]
        yield Chart(
            f"{analysis}-{row.name}-{way}".replace(":", "-"),
            f"{row.name} ({way})",
            f"{row.name}, {way}: share of {row.n:,} found; best offset {row.offset} finds "
            f"{number(row.baseline)}.",
            heat_map(heads, Unit.SHARE),
            heads,
        )


def _pictures(
    view: CorpusView, analysis: str, rows: list[Relation]
) -> list[tuple[str, list[Picture]]]:
    """Sentences of each relation's better direction, the largest gain first."""
    gains: dict[tuple[str | None, str | None], float] = {
        (row.name, row.best.accuracy.direction): row.best.gain.value for row in rows
    }
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": analysis}
    arcs = view.results.rows(ARCS, **place)
    arcs.sort(key=lambda row: -gains.get((row.group, row.direction), -1))
    pictures: dict[str, list[Picture]] = defaultdict(list)
    for row in arcs:
        if (row.group, row.direction) in gains:
            title = f"{head_name(row.layer, row.head, row.attention)} {row.group} {row.direction}"
            pictures[title].append(picture(row))
    return list(pictures.items())


@run_sections(300)
def across_corpora(results: list[RunResults]) -> Iterator[Section]:
    """Relation by corpus, for runs in which two corpora or more have trees."""
    for run in results:
        tables = {
            name: {row.name: row for row in relations(run, name, "trained", "dependencies")}
            for name in run.corpora
        }
        corpora = [name for name in run.corpora if tables[name]]
        if len(corpora) > 1:
            yield _across(run, {name: tables[name] for name in corpora})


def _across(run: RunResults, tables: dict[str, dict[str, Relation]]) -> Section:
    count: dict[str, int] = defaultdict(int)
    for table in tables.values():
        for relation in table:
            count[relation] += 1
    ordered = sorted(count, key=lambda name: (name != "all", -count[name]))
    kept = _kept_roles(run, tables)
    text = "No head is syntactic for the same relation in two of them."
    if kept:
        text = (
            "Heads that find a relation at least 10 points better than its best fixed offset, "
            "corrected, in two corpora or more. Bold: where they do."
        )
    return Section(
        f"Across corpora: {run.record.study.model.name}",
        [
            "The better of row and column for every relation, cross-fitted; small print: the best "
            "fixed offset. Bold: above it, and above what the head's own offsets would score, "
            "both after correction."
        ],
        columns=("relation", *tables),
        rows=[
            (name, *(_across_cell(table.get(name)) for table in tables.values()))
            for name in ordered
        ],
        below=[
            Section(
                "Heads that keep their role",
                [text],
                columns=("head", "relation", "direction", "in", *tables),
                rows=kept,
            )
        ],
    )


def _across_cell(row: Relation | None) -> Cell | str:
    if row is None:
        return "–"
    note = f"{row.offset}: {number(row.baseline)}"
    return Cell(f"{row.best.head} {row.best.value}", note, strong=row.best.sure)


def _kept_roles(
    run: RunResults, tables: dict[str, dict[str, Relation]]
) -> list[tuple[Cell | str, ...]]:
    """Heads with the same syntactic role in two corpora or more, those in most corpora first."""
    held: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for corpus in tables:
        for role in head_roles(run, corpus):
            if role.analysis == "dependencies":
                key = (role.row.name, str(role.row.group), str(role.row.direction))
                held[key].append(corpus)
    accuracy = {
        (row.name, row.group, row.direction, row.corpus): row.value
        for row in run.rows(HEADS, statistic="accuracy", weights="trained", analysis="dependencies")
        if row.head is not None
    }
    ranked = []
    for (head, relation, direction), where in held.items():
        if len(where) < 2:
            continue
        values = {
            name: accuracy[head, relation, direction, name]
            for name, table in tables.items()
            if relation in table
        }
        cells = (
            Cell(number(values[name]), strong=name in where) if name in values else "–"
            for name in tables
        )
        count = f"{len(where)} of {len(values)}"
        line = (Cell(head, head=head), relation, direction, count, *cells)
        ranked.append((-len(where), -sum(values.values()), line))
    return [line for _, _, line in sorted(ranked, key=lambda entry: entry[:2])]
