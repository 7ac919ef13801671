"""Plain text: a line is an example; or two paragraphs that follow each other, as Clark fed them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError


@reader("text", ".txt")
def read_text(path: Path) -> Iterator[Example]:
    """One text a line; empty lines are passed over; the id is the line's number."""
    for number, line in lines(path):
        if line.strip():
            yield Example(str(number), text=line.strip())


@reader("paragraph-pairs")
def read_paragraph_pairs(path: Path) -> Iterator[Example]:
    """Two consecutive paragraphs (lines) as a pair, none used twice (Clark et al. 2019, section 3).

    A heading of the WikiText kind (` = Title = `) or an empty line alone does not make a
    paragraph; a heading of the first level starts a new document, which no pair crosses.
    """
    document, waiting = None, None
    for number, line in lines(path):
        paragraph = line.strip()
        if paragraph.startswith("= ") and paragraph.endswith(" ="):
            if not paragraph.startswith("= ="):
                document, waiting = paragraph.strip("= "), None
        elif paragraph and waiting is None:
            waiting = paragraph
        elif paragraph:
            yield Example(str(number), text=waiting or "", pair=paragraph, document=document)
            waiting = None


@reader("imdb")
def read_imdb(path: Path) -> Iterator[Example]:
    """A folder with the folders `pos` and `neg`, one review a file (IMDB's layout)."""
    for label in ("neg", "pos"):
        if not (path / label).is_dir():
            raise InputError(f"no folder {label!r} in it", path)
        for file in sorted((path / label).glob("*.txt")):
            review = " ".join(line for _, line in lines(file)).replace("<br />", " ").strip()
            if not review:
                raise InputError("the review is empty", file)
            yield Example(f"{label}/{file.stem}", text=review, label=label)
