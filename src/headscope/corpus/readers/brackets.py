"""Mentions in brackets, as CoNLL-U's `Entity=` and CoNLL-2012 write them: `(3(4)` ... `3)`."""

from __future__ import annotations

import re
from pathlib import Path

from headscope.corpus.example import Mention
from headscope.errors import InputError

BRACKET = re.compile(r"(\()?([^()]+)(\))?")


class Brackets:
    """Collects the mentions of a sentence, in order of their end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened: list[tuple[int, str, int]] = []
        self.closed: list[Mention] = []

    def read(self, text: str, word: int, line: int) -> None:
        """Read what stands at one word."""
        for bracket in BRACKET.finditer(text):
            chain = bracket[2].partition("-")[0]
            if bracket[1]:
                self.opened.append((word, chain, line))
            if bracket[3]:
                start = next((one for one in reversed(self.opened) if one[1] == chain), None)
                if start is None:
                    raise InputError(f"mention {chain} ends but never began", self.path, line)
                self.opened.remove(start)
                self.closed.append(Mention(start[0], word + 1, chain))

    def mentions(self) -> tuple[Mention, ...]:
        """All mentions; one that is still open is an error."""
        if self.opened:
            _, chain, line = self.opened[0]
            raise InputError(f"mention {chain} begins but never ends", self.path, line)
        return tuple(self.closed)
