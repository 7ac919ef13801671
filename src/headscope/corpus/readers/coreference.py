"""Coreference corpora: CoNLL-2012 columns, WinoBias, GAP."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headscope.corpus.example import Example, Mention
from headscope.corpus.files import lines
from headscope.corpus.mentions import PRONOUNS
from headscope.corpus.readers.brackets import Brackets
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

COLUMNS = 12
"""Minimum number of columns: document, part, number, word, tag, parse, ..., chains."""
BEGIN = re.compile(r"#begin document \((.*)\); part (\d+)")
WORD = re.compile(r"\w+|[^\w\s]")
GAP_COLUMNS = (
    *("ID", "Text", "Pronoun", "Pronoun-offset"),
    *("A", "A-offset", "A-coref", "B", "B-offset", "B-coref"),
)


@reader("conll2012", ".v4_gold_conll", ".v4_auto_conll")
def read_conll2012(path: Path) -> Iterator[Example]:
    """CoNLL-2012 columns: words, mention chains, and Penn Treebank tags if there are any."""
    document, number, rows = "", 0, []
    for line_number, line in lines(path):
        if line.startswith("#"):
            header = BEGIN.match(line)
            if header:
                document, number = f"{header[1]} part {int(header[2])}", 0
        elif line.strip():
            row = line.split()
            if len(row) < COLUMNS:
                message = f"{len(row)} columns instead of at least {COLUMNS}"
                raise InputError(message, path, line_number)
            rows.append((line_number, row))
        elif rows:
            number += 1
            yield _sentence(path, document, number, rows)
            rows = []
    if rows:
        yield _sentence(path, document, number + 1, rows)


def _sentence(path: Path, document: str, number: int, rows: list[tuple[int, list[str]]]) -> Example:
    brackets = Brackets(path)
    for word, (line, row) in enumerate(rows):
        for part in row[-1].split("|") if row[-1] != "-" else ():
            brackets.read(part, word, word + 1, line)
    tags = tuple(row[4] for _, row in rows)
    return Example(
        f"{document}-{number}",
        words=tuple(row[3] for _, row in rows),
        document=document,
        xpos=tags if any(tag not in ("-", "_", "*") for tag in tags) else (),
        mentions=brackets.mentions(),
    )


@reader("winobias")
def read_winobias(path: Path) -> Iterator[Example]:
    """WinoBias: CoNLL-2012 columns; the other occupation becomes a candidate mention.

    WinoBias annotates only the chain of the pronoun. Every word other than a pronoun that ends
    an annotated mention anywhere in the file is taken to be an occupation; where it occurs in a
    sentence outside the annotated chain, it becomes a mention of its own.
    """
    examples = list(read_conll2012(path))
    occupations = {
        example.words[mention.end - 1].lower()
        for example in examples
        for mention in example.mentions
    } - PRONOUNS.keys()
    for example in examples:
        ends = {mention.end for mention in example.mentions}
        others = tuple(
            Mention(word, word + 1, f"other {word}")
            for word, text in enumerate(example.words)
            if text.lower() in occupations and word + 1 not in ends
        )
        yield replace(example, mentions=example.mentions + others)


@reader("gap")
def read_gap(path: Path) -> Iterator[Example]:
    """GAP: one text per line with a pronoun and two names, which are the candidates."""
    rows = csv.DictReader((line for _, line in lines(path)), delimiter="\t", quoting=csv.QUOTE_NONE)
    if any(name not in (rows.fieldnames or ()) for name in GAP_COLUMNS):
        expected = ", ".join(GAP_COLUMNS)
        raise InputError(f"the header must have the columns {expected}", path, 1)
    for number, row in enumerate(rows, 2):
        yield _gap_example(row, path, number)


def _gap_example(row: dict[str, str], path: Path, number: int) -> Example:
    spans = []
    for name in ("Pronoun", "A", "B"):
        offset = row[f"{name}-offset"] or ""
        start = int(offset) if offset.isdecimal() else -1
        end = start + len(row[name] or "")
        if start < 0 or row["Text"][start:end] != row[name]:
            message = f"{name} {row[name]!r} is not at offset {offset!r} of the text"
            raise InputError(message, path, number)
        spans.append((start, end))
    words = list(_split(row["Text"], {edge for span in spans for edge in span}))
    chains = {"Pronoun": "pronoun"} | {
        name: "pronoun" if (row[f"{name}-coref"] or "").upper() == "TRUE" else name
        for name in ("A", "B")
    }
    mentions = []
    for (start, end), chain in zip(spans, chains.values(), strict=True):
        inside = [place for place, (offset, _) in enumerate(words) if start <= offset < end]
        mentions.append(Mention(inside[0], inside[-1] + 1, chain))
    return Example(
        row["ID"],
        words=tuple(text for _, text in words),
        spaces=tuple(begin == 0 or row["Text"][begin - 1].isspace() for begin, _ in words),
        mentions=tuple(sorted(mentions, key=lambda mention: mention.end)),
    )


def _split(text: str, cuts: set[int]) -> Iterator[tuple[int, str]]:
    """Words (alphanumeric, or single punctuation marks) with offsets; also split at `cuts`."""
    for match in WORD.finditer(text):
        edges = [match.start(), *sorted(cut for cut in cuts if match.start() < cut < match.end())]
        for start, end in zip(edges, [*edges[1:], match.end()], strict=True):
            yield start, text[start:end]
