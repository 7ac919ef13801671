"""Relations by corpus, and the heads that keep their role, where several corpora have trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headscope.analyses._linking.section import Relation, number, relations
from headscope.evidence import HEADS
from headscope.report.head_roles import head_roles
from headscope.report.sections import Cell, Section, run_sections
from headscope.runs import RunResults


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
        finding=_across_finding(tables, ordered),
        menu="Across corpora",
        below=[
            Section(
                "Heads that keep their role",
                [text],
                columns=("head", "relation", "direction", "in", *tables),
                rows=kept,
            )
        ],
    )


def _across_finding(tables: dict[str, dict[str, Relation]], names: list[str]) -> str:
    """How many relations some head surely finds wherever they are frequent enough."""
    shared = [name for name in names if all(name in table for table in tables.values())]
    held = [name for name in shared if all(table[name].best.sure for table in tables.values())]
    return (
        f"For {len(held)} of {len(shared)} relations that all {len(tables)} corpora have, a head "
        "beats every fixed offset in each of them"
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
