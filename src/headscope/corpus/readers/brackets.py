"""Mentions in brackets, as CoNLL-U's `Entity=` and CoNLL-2012 write them: `(3(4)` ... `3)`."""

from __future__ import annotations

import re
from pathlib import Path

from headscope.corpus.example import Mention
from headscope.errors import InputError

BRACKET = re.compile(r"(\()?([^()]+)(\))?")
PART = re.compile(r"\[\d+/\d+\]$")  # e1[1/2]: the first part of a mention that is interrupted


def chain_field(header: str) -> int:
    """Which field of a bracket names the chain, from `# global.Entity = ...`; the first by default.

    >>> chain_field("eid-etype-head-other"), chain_field("entity-GRP-infstat"), chain_field("")
    (0, 1, 0)
    """
    names = header.split("-")
    return next((place for place, name in enumerate(names) if name in ("GRP", "eid")), 0)


class Brackets:
    """Collects the mentions of a sentence, in order of their end."""

    def __init__(self, path: Path, field: int = 0) -> None:
        self.path, self.field = path, field
        self.opened: list[tuple[int, str, int]] = []
        self.closed: list[Mention] = []

    def read(self, text: str, start: int, end: int, line: int) -> None:
        """Read what stands at one word, or between two (an empty node: start is end)."""
        for bracket in BRACKET.finditer(text):
            fields = bracket[2].split("-")
            name = fields[self.field] if len(fields) > self.field else fields[0]
            if bracket[1]:
                self.opened.append((start, name, line))
            if bracket[3]:
                begun = next((one for one in reversed(self.opened) if one[1] == name), None)
                if begun is None:
                    raise InputError(f"mention {name} ends but never began", self.path, line)
                self.opened.remove(begun)
                if begun[0] < end:  # else it has no word
                    self.closed.append(Mention(begun[0], end, PART.sub("", name)))

    def mentions(self) -> tuple[Mention, ...]:
        """All mentions; one that is still open is an error."""
        if self.opened:
            _, chain, line = self.opened[0]
            raise InputError(f"mention {chain} begins but never ends", self.path, line)
        return tuple(self.closed)
