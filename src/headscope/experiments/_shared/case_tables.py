"""A task's cases worked off, and what was found on them as tables."""

from __future__ import annotations

from headscope.analyses import described
from headscope.evidence import Statistic, best_rows, rows
from headscope.experiments._shared.cases import CaseWork
from headscope.experiments.scan.gather import sizes_of
from headscope.runs import Results, RunFolder, run, table_of

Part = tuple[str, type, list[Statistic]]
"""Its name, what explains it, and what was found."""


def work_off(work: CaseWork, folder: RunFolder | None) -> None:
    """Work off all cases; what is in the folder already is not done again."""
    work.progress.begin(f"{work.model.name} on {work.task.name}", len(work.cases))
    work.harvest = run(work.parts, work.work, folder, 0, work)
    work.progress.end()


def tables_of(work: CaseWork, parts: list[Part]) -> Results:
    """What was found, with the record that every study of a task has."""
    place = (work.task.name, work.model.weights)
    texts = [text for case in work.cases for text in case.texts]
    record = {
        "tables": ["heads", "chosen"],
        "analyses": [described(*part) for part in parts],
        "corpora": [
            {"corpus": place[0], "weights": place[1]} | sizes_of(texts, len(work.cases))
        ],
        "left_out": {},
    }  # fmt: skip
    return Results(
        record,
        table_of([rows(found, name, *place) for name, _, found in parts]),
        table_of([best_rows(found, name, *place) for name, _, found in parts]),
    )
