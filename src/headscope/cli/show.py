"""What was found, as tables on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from headscope._util.naming import head_name
from headscope.analyses._linking import section as tables
from headscope.report import numbers as summary
from headscope.report.head_cards import cards, striking
from headscope.report.head_roles import labelled, roles
from headscope.report.model_summary import portrait
from headscope.report.panels import panels
from headscope.report.views import views
from headscope.runs import Results
from headscope.runs.found import Found

SHOWN = 12
"""Roles and labels that are listed; the report has all."""
BROAD = 60
"""Tables with longer cells are left to the report."""
LONG = 18
"""Cells that are longer may be broken into lines where the terminal is narrow."""


def show(found: Found, console: Console) -> None:
    """Print the most striking heads, and the papers' tables where the annotation allows them."""
    model = found.record["study"]["model"]["name"]
    for name, lines in found.lines():
        _print(
            console,
            f"{model} on {name}",
            summary.COLUMNS,
            [line.cells for line in lines],
        )
        for analysis in tables.LINKING:
            _relations(found, name, analysis, console)
        _antecedents(found, name, console)
        _labels(found, name, console)
        _boards(found, name, console)
        for analysis, reason in found.record["left_out"].get(name, {}).items():
            console.print(f"left out: {analysis} ({reason})", highlight=False)
    _across(found, console)
    for panel in panels([found]):
        _print(console, panel.title, panel.columns, panel.rows)
        for text in panel.text:
            console.print(text, highlight=False)


def _print(
    console: Console, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    if not rows:
        return
    cells = [(column, *(row[place] for row in rows)) for place, column in enumerate(columns)]
    long = [max(map(len, some[1:])) > LONG for some in cells]
    needed = [
        max(len(word) for cell in some for word in (cell.split() if broken else [cell]))
        for some, broken in zip(cells, long, strict=True)
    ]
    framed = sum(needed) + 3 * len(columns) + 1 <= console.width
    table = Table(title=title)
    if not framed:  # closer, and lines are broken rather than cut
        table = Table(title=title, box=None, pad_edge=False, collapse_padding=True)
    for place, column in enumerate(columns):
        table.add_column(
            column,
            justify="right" if place > 1 and not long[place] else "left",
            no_wrap=framed and not long[place],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _relations(found: Found, corpus: str, analysis: str, console: Console) -> None:
    rows = found.relations(corpus, analysis=analysis)
    if not rows:
        return
    _print(
        console,
        f"{analysis} in {corpus}: the best head for each",
        tables.COLUMNS,
        [row.cells for row in rows],
    )
    console.print(
        "sure: above the best fixed offset and above what the head's own offsets would score, "
        "both corrected (q < .05)" + ("; * fewer than 100" if any(r.few for r in rows) else ""),
        highlight=False,
    )
    for row in tables.attachment(found, corpus, "trained", analysis):
        value = f"{summary.number(row['value'], 'share')} {summary.interval(row, 'share')}"
        console.print(f"attachment with the {row['group']}: {value}", highlight=False)


def _antecedents(found: Found, corpus: str, console: Console) -> None:
    table = found.antecedents(corpus)
    if table is None:
        return
    windows = next(one for one in found.record["corpora"] if one["corpus"] == corpus)["windows"]
    heads = [f"{g} ({n:,})" for g, n in zip(table.groups, table.counts, strict=True)]
    _print(
        console,
        f"antecedents in {corpus}: {windows['examples']:,} windows of at most "
        f"{windows['limit']} pieces",
        ("who finds the antecedent", *heads),
        [(name, *cells) for name, cells in table.lines],
    )


def _labels(found: Found, corpus: str, console: Console) -> None:
    labels = labelled(roles(found, corpus))
    for label in labels[:SHOWN]:
        console.print(f"{label.head} is {label.short}", highlight=False)
    if len(labels) > SHOWN:
        console.print(f"and {len(labels) - SHOWN} more (in the report)", highlight=False)


def _boards(found: Found, corpus: str, console: Console) -> None:
    """What analyses say besides numbers per head, for the trained model."""
    for view in views([found]):
        if view.corpus == corpus and view.weights in ("trained", "tuned"):
            for board in view.boards.values():
                for text in board.text:
                    console.print(text, highlight=False)
                if all(len(cell) <= BROAD for row in board.rows for cell in row):
                    _print(console, board.title, board.columns, board.rows)


def _across(found: Found, console: Console) -> None:
    table = found.across()
    if table is None:
        return
    rows = []
    for relation in table.relations:
        known = [table.best.get((relation, name)) for name in table.corpora]
        cells = [
            f"{one.best.head} {one.best.value}{' +' if one.best.sure else ''}" if one else "-"
            for one in known
        ]
        rows.append((relation, *cells))
    _print(
        console,
        "the best head for each relation (+: sure, as above)",
        ("relation", *table.corpora),
        rows,
    )
    if not table.roles:
        console.print("no head is syntactic for the same relation in two of them")
    for role in table.roles[:SHOWN]:
        where = f"in {len(role.held)} of {len(role.asked)}: {', '.join(role.held)}"
        console.print(
            f"{role.head} finds {role.relation} ({role.direction}) {where}", highlight=False
        )
    if len(table.roles) > SHOWN:
        console.print(f"and {len(table.roles) - SHOWN} more roles that are kept (in the report)")


def show_heads(
    found: Found, results: list[Results], console: Console, *, every: bool = False
) -> None:
    """Print the model in short, and cards of its heads: the most specialised, or all."""
    for view in views([found]):
        told = portrait(view, results)
        if told is None or view.weights == "random":
            continue
        for text in told.text:
            console.print(text, highlight=False)
        _print(console, told.title, told.columns, told.rows)
        known = cards(view, results)
        for card in known.values() if every else striking(view, known):
            console.print(card.title, style="bold", highlight=False)
            for line in card.lines:
                console.print(f"  {line}", highlight=False, markup=False)


def as_data(results: list[Results]) -> list[dict[str, Any]]:
    """What `headscope roles --json` prints: a row for each role of each head."""
    return [
        {"model": view.model, "corpus": view.corpus, "weights": view.weights,
         "head": head_name(*role.place), "role": role.rule.name, "threshold": role.rule.threshold,
         "source": role.rule.source, "q_threshold": role.q, "sentence": role.sentence}
        | {key: role.row[key] for key in ("group", "direction", "value", "low", "high", "baseline")}
        for view in views(results)
        for role in view.roles
    ]  # fmt: skip
