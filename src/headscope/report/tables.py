"""The tables of the page as files: CSV for a spreadsheet, LaTeX for a paper, the same numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from headscope._util.atomic import explain_write_errors, write_text
from headscope._util.printable import printable
from headscope.report.best_heads import best_table
from headscope.report.page import sections_of
from headscope.report.sections import Section
from headscope.report.views import views
from headscope.runs import RunResults

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
NUMBER = re.compile(r"[+-]?[\d.]")
FORMULA = ("=", "+", "-", "@")


def write_tables(results: list[RunResults], folder: Path) -> list[Path]:
    """Write every table of the page as CSV and as LaTeX; returns the files."""
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for title, section in _tables(results):
        name = re.sub(r"[^\w.-]+", "-", title.replace("'", "")).strip("-")
        rows = [[printable(str(cell)) for cell in row] for row in section.cells]
        write_text(folder / f"{name}.csv", as_csv(section.columns, rows))
        write_text(folder / f"{name}.tex", as_latex(title, section.columns, rows))
        written += [folder / f"{name}.csv", folder / f"{name}.tex"]
    return written


def _tables(results: list[RunResults]) -> Iterator[tuple[str, Section]]:
    """Every table of the page with its title."""
    for made in sections_of(results):
        for one in (made, *made.below):
            if one.rows:
                yield one.title, one
    for view in views(results):
        yield f"{view.title} best heads", best_table(view)
        for analysis in view.analyses:
            section = view.section(analysis.analysis)
            for part in (section, *section.below) if section is not None else ():
                if part.rows:
                    name = analysis.analysis if part is section else part.title
                    yield f"{view.title} {name}", part


def as_csv(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    r"""A table as CSV; no cell is a formula to a spreadsheet.

    >>> as_csv(("relation", "gain"), [["=1+1", "+3.0 pt"]])
    "relation,gain\r\n'=1+1,+3.0 pt\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_no_formula(cell) for cell in row])
    return out.getvalue()


def _no_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) and not NUMBER.match(cell) else cell


def as_latex(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> str:
    r"""A table as LaTeX (booktabs), escaped.

    >>> print(as_latex("A & B", ("head", "value"), [["L0.H1", "86.0%"]]), end="")
    % A & B
    \begin{tabular}{lr}
    \toprule
    head & value \\
    \midrule
    L0.H1 & 86.0\% \\
    \bottomrule
    \end{tabular}
    """
    columns_of = list(zip(*rows, strict=True)) or [()] * len(columns)
    sides = "".join("r" if all(map(NUMBER.match, cells)) else "l" for cells in columns_of)
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (columns, *rows)]
    return "\n".join(
        [
            f"% {' '.join(title.split())}",
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escaped(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)
