"""Plain text: one example per line, pairs of consecutive paragraphs, or one file per review."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError


@reader("text", ".txt")
def read_text(path: Path) -> Iterator[Example]:
    """One text per line; empty lines are skipped; the id is the line number."""
    for number, line in lines(path):
        if line.strip():
            yield Example(str(number), text=line.strip())


@reader("paragraph-pairs")
def read_paragraph_pairs(path: Path) -> Iterator[Example]:
    """Pairs of consecutive paragraphs (lines), without overlap (Clark et al. 2019, section 3).

    WikiText headings (` = Title = `) and empty lines are not paragraphs. A top-level heading
    starts a new document, and no pair spans two documents.
    """
    document, first = None, None
    for number, line in lines(path):
        paragraph = line.strip()
        if paragraph.startswith("= ") and paragraph.endswith(" ="):
            if not paragraph.startswith("= ="):
                document, first = paragraph.strip("= "), None
        elif paragraph and first is None:
            first = paragraph
        elif paragraph:
            yield Example(str(number), text=first or "", pair=paragraph, document=document)
            first = None


@reader("imdb")
def read_imdb(path: Path) -> Iterator[Example]:
    """IMDB's layout: the folders `pos` and `neg` with one review per file."""
    for label in ("neg", "pos"):
        if not (path / label).is_dir():
            raise InputError(f"no subfolder {label!r}", path)
        for file in sorted((path / label).glob("*.txt")):
            review = " ".join(line for _, line in lines(file)).replace("<br />", " ").strip()
            if not review:
                raise InputError("the review is empty", file)
            yield Example(f"{label}/{file.stem}", text=review, label=label)
