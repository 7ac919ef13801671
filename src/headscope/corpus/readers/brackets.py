"""Bracketed mentions, as in the `Entity=` of CoNLL-U and in CoNLL-2012: `(3(4)` ... `3)`."""

from __future__ import annotations

import re
from pathlib import Path

from headscope.corpus.example import Mention
from headscope.errors import InputError

BRACKET = re.compile(r"(\()?([^()]+)(\))?")
PART = re.compile(r"\[\d+/\d+\]$")  # e1[1/2]: the first part of a discontinuous mention


def chain_field(header: str) -> int:
    """The field of a bracket that names the chain, from `# global.Entity = ...` (default: first).

    >>> chain_field("eid-etype-head-other"), chain_field("entity-GRP-infstat"), chain_field("")
    (0, 1, 0)
    """
    names = header.split("-")
    return next((place for place, name in enumerate(names) if name in ("GRP", "eid")), 0)


class Brackets:
    """Collects the bracketed mentions of a sentence, ordered by where they end."""

    def __init__(self, path: Path, field: int = 0) -> None:
        self.path, self.field = path, field
        self.opened: list[tuple[int, str, int]] = []
        self.closed: list[Mention] = []

    def read(self, text: str, start: int, end: int, line: int) -> None:
        """Read the brackets at a word, or at an empty node (`start` equals `end`)."""
        for bracket in BRACKET.finditer(text):
            fields = bracket[2].split("-")
            name = fields[self.field] if len(fields) > self.field else fields[0]
            if bracket[1]:
                self.opened.append((start, name, line))
            if bracket[3]:
                opening = next((entry for entry in reversed(self.opened) if entry[1] == name), None)
                if opening is None:
                    raise InputError(f"mention {name} ends but never begins", self.path, line)
                self.opened.remove(opening)
                if opening[0] < end:  # else it contains no word
                    self.closed.append(Mention(opening[0], end, PART.sub("", name)))

    def mentions(self) -> tuple[Mention, ...]:
        """All mentions of the sentence; raises an error if one is still open."""
        if self.opened:
            _, chain, line = self.opened[0]
            raise InputError(f"mention {chain} begins but never ends", self.path, line)
        return tuple(self.closed)
