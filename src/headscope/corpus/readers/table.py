"""Tables: CSV and TSV files with a header, and tab-separated pairs of texts without one."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

TEXT = ("text", "sentence", "sentence1", "text1", "premise", "question1", "question")
PAIR = ("pair", "sentence2", "text2", "hypothesis", "question2")
LABEL = ("label", "score", "gold_label", "is_duplicate")
UNDERSTOOD = (
    f"text: {', '.join(TEXT)}; second text: {', '.join(PAIR)}; label or score: "
    f"{', '.join(LABEL)}; also id, document"
)
"""The column names that are understood, for messages."""


@reader("csv", ".csv")
def read_csv(path: Path) -> Iterator[Example]:
    """CSV with a header, separated by commas or semicolons: a text, and other columns.

    Column names, in upper or lower case; of several names for one thing the first that the
    header has is used, and other columns are ignored:

    - the text (required): `text`, `sentence`, `sentence1`, `text1`, `premise`, `question1`,
      `question`;
    - the second text of a pair: `pair`, `sentence2`, `text2`, `hypothesis`, `question2`;
    - a class or score: `label`, `score`, `gold_label`, `is_duplicate`;
    - `id` (default: the line number) and `document`.
    """
    numbered = lines(path)
    first = next(numbered, (1, ""))
    delimiter = ";" if ";" in first[1] and "," not in first[1] else ","
    line_number = 1

    def raw_lines() -> Iterator[str]:
        nonlocal line_number
        for number, line in chain([first], numbered):
            line_number = number
            yield line + "\n"

    rows = csv.reader(raw_lines(), delimiter=delimiter, strict=True)
    try:
        yield from _examples(path, ((line_number, row) for row in rows))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path, line_number) from None


@reader("tsv", ".tsv")
def read_tsv(path: Path) -> Iterator[Example]:
    """TSV with a header and no quoting, as in GLUE: the same columns as CSV."""
    yield from _examples(path, ((number, line.split("\t")) for number, line in lines(path)))


@reader("pairs")
def read_pairs(path: Path) -> Iterator[Example]:
    """Two texts per line, separated by a tab, without a header; the id is the line number."""
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            raise InputError(f"{len(cells)} columns instead of two texts", path, number)
        yield Example(str(number), text=cells[0].strip(), pair=cells[1].strip())


def _examples(path: Path, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Example]:
    """The examples of a table whose first row is the header."""
    _, header = next(rows, (0, []))
    column = {name.strip().lower(): place for place, name in reversed(list(enumerate(header)))}
    text = next((column[name] for name in TEXT if name in column), None)
    if text is None:
        names = ", ".join(header) or "nothing"
        raise InputError(
            f"no text column in the header ({names}); names that are understood: {UNDERSTOOD}",
            path,
            1,
        )
    pair = next((column[name] for name in PAIR if name in column), None)
    label = next((column[name] for name in LABEL if name in column), None)
    for number, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise InputError(f"{len(row)} columns instead of {len(header)}", path, number)
        if not row[text].strip():
            raise InputError("the text is empty", path, number)
        yield Example(
            row[column["id"]] if "id" in column else str(number),
            text=row[text].strip(),
            pair=None if pair is None else row[pair].strip(),
            document=row[column["document"]] if "document" in column else None,
            label=None if label is None else row[label],
        )
