"""Reproductions as one page of Markdown: each paper once, with a column for every model."""

from __future__ import annotations

from collections.abc import Iterator

from headscope._util.printable import printable
from headscope.experiments.reproduce.tables import (
    REPRODUCED,
    ReproducedRow,
    ReproductionSummary,
    Verdict,
    by_table,
    counts_in_words,
    reasons,
)
from headscope.runs import RunResults

SIGNS = {Verdict.AGREES: "agrees", Verdict.DIFFERS: "differs", Verdict.CANNOT: "not comparable"}
TITLE = "# The papers' numbers, computed again"
INTRODUCTION = (
    "Made by `headscope reproduce`. A number agrees if the published one lies within our 95% "
    "interval, widened by a tolerance that the paper's file fixes beforehand. With another model, "
    "or other data, a difference is to be expected; it is shown all the same. Points that were "
    "read off drawings are shown where they can be compared; all are in the tables of the runs."
)


def markdown_page(results: list[RunResults]) -> str:
    """The page.

    Args:
        results: reproductions; those of one paper share its tables.
    """
    papers: dict[str, list[RunResults]] = {}
    for run in results:
        papers.setdefault(run.record.summary_as(ReproductionSummary).paper, []).append(run)
    lines = [TITLE, "", INTRODUCTION, "", *_overview(papers)]
    for runs in papers.values():
        lines += _paper(runs)
    return "\n".join(lines).rstrip() + "\n"


def _overview(papers: dict[str, list[RunResults]]) -> Iterator[str]:
    """How many numbers of each paper were computed again, by model."""
    yield from _table_lines(
        ("paper", "model", "printed", "drawn", "command"),
        (
            (
                name,
                run.record.study.model.name,
                *(_counts(run.rows(REPRODUCED), drawn=drawn) for drawn in (False, True)),
                f"`{_command(run)}`",
            )
            for name, runs in papers.items()
            for run in runs
        ),
    )
    yield ""


def _heading(run: RunResults) -> str:
    """The model, and how many texts it had if these were limited."""
    limit = run.record.study.options["limit"]
    return f"{run.record.study.model.name}{'' if limit is None else f', {limit} texts'}"


def _counts(rows: list[ReproducedRow], *, drawn: bool) -> str:
    some = [row for row in rows if row.drawn == drawn]
    return counts_in_words(some) if some else "none"


def _command(run: RunResults) -> str:
    """The command that made a run, without where it was written."""
    options = run.record.study.options
    limit = "" if options["limit"] is None else f" --limit {options['limit']}"
    return f"headscope reproduce {options['paper']} --model {run.record.study.model.name}{limit}"


def _paper(runs: list[RunResults]) -> Iterator[str]:
    summary = runs[0].record.summary_as(ReproductionSummary)
    yield from (f"## {summary.title}", "", f"The authors used {', '.join(summary.paper_models)}.")
    yield from ("", *(f"- {name}: {words}" for name, words in summary.inputs.items()))
    for title, words in (
        ("Tolerances", summary.tolerances),
        ("As in the paper, unlike headscope's defaults", summary.conventions),
        ("Left open by the paper", summary.open),
    ):
        yield from ("", f"{title}:", "", *(f"- {each}" for each in words))
    yield ""
    tables = [by_table(run.rows(REPRODUCED)) for run in runs]
    models = [_heading(run) for run in runs]
    for where in dict.fromkeys(where for table in tables for where in table):
        there = [
            (name, table[where])
            for name, table in zip(models, tables, strict=True)
            if where in table
        ]
        yield from _table(where, [name for name, _ in there], [some for _, some in there])


def _table(where: str, models: list[str], rows: list[list[ReproducedRow]]) -> Iterator[str]:
    """A table of a paper: the numbers that any model gave, then why the others are not there."""
    drawn = [row for row in rows[0] if row.drawn]
    by_model = [{(row.row, row.column): row for row in some} for some in rows]
    yield from (f"### {where}", "")
    computed = [key for key in by_model[0] if any(_computed(some, key) for some in by_model)]
    if computed:
        yield from _table_lines(
            ("number", "published", *models),
            (
                (
                    _name(by_model[0][key]),
                    by_model[0][key].published,
                    *(_ours(some.get(key)) for some in by_model),
                )
                for key in computed
            ),
        )
        yield ""
    missing = [
        row
        for key, row in by_model[0].items()
        if not any(key in some and some[key].computed for some in by_model)
    ]
    if drawn:
        for model, some in zip(models, rows, strict=True):
            points = counts_in_words([row for row in some if row.drawn])
            yield f"- {model}, points of drawings: {points}"
    yield from (f"- {words}" for words in reasons(missing))
    yield ""


def _computed(some: dict[tuple[str, str], ReproducedRow], key: tuple[str, str]) -> bool:
    return key in some and some[key].computed and some[key].shown


def _name(row: ReproducedRow) -> str:
    return f"{row.row}, {row.column}" + (f" ({row.unit})" if row.unit else "")


def _ours(row: ReproducedRow | None) -> str:
    """Ours, its interval and the verdict."""
    if row is None or not row.computed:
        return ""
    return " ".join(one for one in (row.ours, row.interval, SIGNS[Verdict(row.verdict)]) if one)


def _table_lines(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """A table of Markdown; what is in the cells is data."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        cells = (printable(cell or "").replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(cells)} |"
