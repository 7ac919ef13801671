"""Tables: CSV and TSV with a header, and plain pairs of texts separated by a tab."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

TEXT = ("text", "sentence", "sentence1", "text1", "premise", "question1", "question")
PAIR = ("pair", "sentence2", "text2", "hypothesis", "question2")
LABEL = ("label", "score", "gold_label", "is_duplicate")


@reader("csv", ".csv")
def read_csv(path: Path) -> Iterator[Example]:
    """CSV with a header: a text column, optionally a second text, label, id, document."""
    numbered = lines(path)
    place = [0]

    def feed() -> Iterator[str]:
        for number, line in numbered:
            place[0] = number
            yield line + "\n"

    rows = csv.reader(feed(), strict=True)
    try:
        yield from _examples(path, ((place[0], row) for row in rows))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path, place[0]) from None


@reader("tsv", ".tsv")
def read_tsv(path: Path) -> Iterator[Example]:
    """TSV with a header, no quoting (as GLUE): the same columns as CSV."""
    yield from _examples(path, ((number, line.split("\t")) for number, line in lines(path)))


@reader("pairs")
def read_pairs(path: Path) -> Iterator[Example]:
    """Two texts a line with a tab between them, no header; the id is the line's number."""
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            raise InputError(f"{len(cells)} columns instead of two texts", path, number)
        yield Example(str(number), text=cells[0].strip(), pair=cells[1].strip())


def _examples(path: Path, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Example]:
    """Examples of the rows below a header (its names are matched in lower case)."""
    _, header = next(rows, (0, []))
    column = {name.strip().lower(): place for place, name in reversed(list(enumerate(header)))}
    text = next((column[name] for name in TEXT if name in column), None)
    if text is None:
        found = ", ".join(header) or "nothing"
        raise InputError(f"no text column in the header ({found}); name one 'text'", path, 1)
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
