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
"""A line of CoNLL-2012 has at least: document, part, number, word, tag, parse, ..., chains."""
BEGIN = re.compile(r"#begin document \((.*)\); part (\d+)")
WORD = re.compile(r"\w+|[^\w\s]")


@reader("conll2012", ".v4_gold_conll", ".v4_auto_conll")
def read_conll2012(path: Path) -> Iterator[Example]:
    """CoNLL-2012 columns: words, Penn tags where there are any, mention chains."""
    document, number, rows = "", 0, []
    for line_number, line in lines(path):
        if line.startswith("#"):
            begun = BEGIN.match(line)
            if begun:
                document, number = f"{begun[1]} part {int(begun[2])}", 0
        elif line.strip():
            row = line.split()
            if len(row) < COLUMNS:
                found = f"{len(row)} columns instead of at least {COLUMNS}"
                raise InputError(found, path, line_number)
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
    """WinoBias: CoNLL-2012 columns, where the other occupation is a candidate too.

    Only the chain of the pronoun is annotated. An occupation is whatever some sentence of the
    file annotates and is no pronoun; the other one of a sentence becomes a mention by itself.
    """
    examples = list(read_conll2012(path))
    known = {
        example.words[mention.end - 1].lower()
        for example in examples
        for mention in example.mentions
    } - PRONOUNS.keys()
    for example in examples:
        ends = {mention.end for mention in example.mentions}
        others = tuple(
            Mention(word, word + 1, f"other {word}")
            for word, text in enumerate(example.words)
            if text.lower() in known and word + 1 not in ends
        )
        yield replace(example, mentions=example.mentions + others)


@reader("gap")
def read_gap(path: Path) -> Iterator[Example]:
    """GAP: a pronoun and two names a line; the names are the candidates."""
    rows = csv.DictReader((line for _, line in lines(path)), delimiter="\t", quoting=csv.QUOTE_NONE)
    wanted = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B",
              "B-offset", "B-coref")  # fmt: skip
    if any(name not in (rows.fieldnames or ()) for name in wanted):
        raise InputError(f"the first line must name the columns {', '.join(wanted)}", path, 1)
    for number, row in enumerate(rows, 2):
        yield _gap(row, path, number)


def _gap(row: dict[str, str], path: Path, number: int) -> Example:
    spans = []
    for name in ("Pronoun", "A", "B"):
        offset = row[f"{name}-offset"] or ""
        start = int(offset) if offset.isdecimal() else -1
        end = start + len(row[name] or "")
        if start < 0 or row["Text"][start:end] != row[name]:
            found = f"{name} is {row[name]!r}, which is not at {offset!r} of the text"
            raise InputError(found, path, number)
        spans.append((start, end))
    cuts = {edge for span in spans for edge in span}
    words = list(_split(row["Text"], cuts))
    own = {"Pronoun": "pronoun"} | {
        name: "pronoun" if (row[f"{name}-coref"] or "").upper() == "TRUE" else name
        for name in ("A", "B")
    }
    mentions = []
    for (start, end), chain in zip(spans, own.values(), strict=True):
        inside = [place for place, (at, _) in enumerate(words) if start <= at < end]
        mentions.append(Mention(inside[0], inside[-1] + 1, chain))
    return Example(
        row["ID"],
        words=tuple(text for _, text in words),
        spaces=tuple(at == 0 or row["Text"][at - 1].isspace() for at, _ in words),
        mentions=tuple(sorted(mentions, key=lambda mention: mention.end)),
    )


def _split(text: str, cuts: set[int]) -> Iterator[tuple[int, str]]:
    """Words of a text with their offsets: letters and digits, or one sign; cut at `cuts` too."""
    for match in WORD.finditer(text):
        edges = [match.start(), *sorted(c for c in cuts if match.start() < c < match.end())]
        for start, end in zip(edges, [*edges[1:], match.end()], strict=True):
            yield start, text[start:end]
