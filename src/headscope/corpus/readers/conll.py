"""Treebanks: CoNLL-U (Universal Dependencies, with mention chains and frames) and CoNLL-X.

Written here rather than taken from the `conllu` package because an error must name its line,
CoNLL-X must be read by the same rules, and reading twice must not be felt (20 times faster).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import Example, Frame
from headscope.corpus.files import lines
from headscope.corpus.readers.brackets import Brackets, chain_field
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

NUMBERED = re.compile(r"(.+)-\d+")  # wsj_0001-17: sentence 17 of document wsj_0001
NOT_A_WORD = re.compile(r"\d+[-.]\d+")  # 3-4: a multiword token; 3.1: an empty node


@dataclass
class Sentence:
    """The lines of one sentence: comments, and rows of columns with their line numbers."""

    start: int
    comments: dict[str, str] = field(default_factory=dict)
    frames: list[tuple[int, str]] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)


@reader("conllu", ".conllu", ".conll")
def read_conllu(path: Path) -> Iterator[Example]:
    """CoNLL-U: words, UD tags, trees; mention chains from `Entity=`; frames from `# frame =`."""
    yield from _treebank(path, universal=True)


@reader("conllx", ".conllx")
def read_conllx(path: Path) -> Iterator[Example]:
    """CoNLL-X: words, tags of the treebank's own, trees."""
    yield from _treebank(path, universal=False)


def _treebank(path: Path, universal: bool) -> Iterator[Example]:
    document, named = None, False  # once a file names documents, only these count
    field = 0  # of the brackets of mentions, said once a file or document
    for number, sentence in enumerate(_sentences(path), 1):
        if "newdoc" in sentence.comments or "newdoc id" in sentence.comments:
            document, named = sentence.comments.get("newdoc id") or f"document {number}", True
        if "global.Entity" in sentence.comments:
            field = chain_field(sentence.comments["global.Entity"])
        name = sentence.comments.get("sent_id", str(number))
        inferred = NUMBERED.fullmatch(name)
        where = document if named else inferred and inferred[1]
        yield _Words(path, sentence, universal, field).example(name, where)


def _sentences(path: Path) -> Iterator[Sentence]:
    sentence = Sentence(1)
    for number, line in lines(path):
        if not line.strip():
            if sentence.rows:
                yield sentence
            sentence = Sentence(number + 1)
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            sentence.comments[key.strip()] = value.strip()
            if key.strip() == "frame":
                sentence.frames.append((number, value.strip()))
        else:
            sentence.rows.append((number, line.split("\t")))
    if sentence.rows:
        yield sentence


class _Words:
    """The words of a sentence, checked line by line."""

    def __init__(self, path: Path, sentence: Sentence, universal: bool, field: int) -> None:
        self.path, self.sentence, self.universal = path, sentence, universal
        self.rows: list[tuple[int, list[str]]] = []
        self.brackets = Brackets(path, field)
        self.spaces: list[bool] = []
        self.read_rows()

    def read_rows(self) -> None:
        space, inside = True, 0  # is there a space before the next word; end of a multiword token
        after = True
        for number, row in self.sentence.rows:
            if len(row) < 8 or (self.universal and len(row) != 10):
                found = f"{len(row)} columns instead of 10 (separated by tabs)"
                raise InputError(found, self.path, number)
            if NOT_A_WORD.fullmatch(row[0]):
                _, dash, last = row[0].partition("-")
                if dash:
                    inside, after = int(last), "SpaceAfter=No" not in row[9]
                elif self.universal:
                    self.bracketed(number, row, len(self.rows), len(self.rows))
                continue
            if row[0] != str(len(self.rows) + 1):
                expected = f"word number {row[0]!r} instead of {len(self.rows) + 1}"
                raise InputError(expected, self.path, number)
            self.rows.append((number, row))
            self.spaces.append(space)
            position = len(self.rows)
            if self.universal:
                self.bracketed(number, row, position - 1, position)
            if position < inside:
                space = False
            elif position == inside:
                space = after
            else:
                space = len(row) < 10 or "SpaceAfter=No" not in row[9]
        if not self.rows:
            raise InputError("a sentence without words", self.path, self.sentence.start)

    def example(self, name: str, document: str | None) -> Example:
        heads = self.heads()
        return Example(
            name,
            document=document,
            words=tuple(row[1] for _, row in self.rows),
            spaces=tuple(self.spaces),
            upos=self.column(3) if self.universal else (),
            xpos=self.column(4),
            features=self.column(5),
            heads=heads,
            relations=self.column(7) if heads else (),
            mentions=self.brackets.mentions(),
            frames=tuple(self.frame(*frame) for frame in self.sentence.frames),
        )

    def column(self, place: int) -> tuple[str, ...]:
        """A column; empty where nothing in it is filled in."""
        cells = tuple(row[place] for _, row in self.rows)
        return cells if set(cells) != {"_"} else ()

    def heads(self) -> tuple[int, ...]:
        """Positions of the heads from 0, -1 for the root; empty where there is no tree."""
        cells = self.column(6)
        size = len(cells)
        heads = [int(cell) - 1 if cell.isdecimal() else size for cell in cells]
        for position, head in enumerate(heads):
            if head >= size or head == position:
                number, row = self.rows[position]
                allowed = f"a number from 0 to {size}, and not the word's own"
                raise InputError(f"the head is {row[6]!r}, not {allowed}", self.path, number)
        return tuple(heads)

    def bracketed(self, number: int, row: list[str], start: int, end: int) -> None:
        """Mentions from the brackets in MISC, `Entity=(3(4)` ... `3)`."""
        if "Entity=" in row[9]:
            entity = next((m[7:] for m in row[9].split("|") if m.startswith("Entity=")), "")
            self.brackets.read(entity, start, end, number)

    def frame(self, number: int, text: str) -> Frame:
        """`Giving target=3 Donor=1-2 Theme=5-7`, word numbers from 1, both ends included."""
        name, *parts = text.split() or [""]
        spans = []
        for part in parts:
            label, _, span = part.partition("=")
            first, _, last = span.partition("-")
            if not first.isdecimal() or not (last or first).isdecimal():
                raise InputError(f"{part!r} is not ELEMENT=FIRST-LAST", self.path, number)
            spans.append((label, int(first) - 1, int(last or first)))
        targets = [span for span in spans if span[0] == "target"]
        if len(targets) != 1 or any(not 0 <= a < b <= len(self.rows) for _, a, b in spans):
            expected = "one target and spans inside the sentence"
            raise InputError(f"a frame needs {expected}: {text!r}", self.path, number)
        elements = tuple(span for span in spans if span[0] != "target")
        return Frame(name, targets[0][1], elements)
