"""A sentence with the arcs of the annotation above it and those that a head draws below."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from headscope.evidence.example_tables import ArcsRow

SIGN = 7.4
"""Width of a letter, in pixels; a wide one (Chinese, Korean) has twice that."""
GAP = 14
LEVEL = 9
"""Height of an arc for each word that it spans."""
TALLEST = 12


@dataclass(frozen=True)
class Curve:
    """One arc: its path, what kind it is (`gold`, `right`, `wrong`), and what it says."""

    path: str
    kind: str
    title: str


@dataclass(frozen=True)
class Picture:
    """A sentence as a drawing."""

    example: str
    width: float
    height: float
    line: float
    words: list[tuple[float, str]]
    curves: list[Curve]
    right: int
    asked: int
    beyond: int

    @property
    def caption(self) -> str:
        """How well the head does on this sentence."""
        note = "; the head looks at none of these words" if self.beyond else ""
        return f"{self.right} of {self.asked} right{note}"


def picture(row: ArcsRow) -> Picture:
    """Draw a row of arcs.parquet."""
    middles, width = _places(row.words)
    pairs = list(zip(row.source, row.gold, row.drawn, row.right, strict=True))
    spans = [abs(s - end) for s, gold, drawn, _ in pairs for end in (*gold, drawn) if end >= 0]
    reach = 0.75 * LEVEL * min(max(spans, default=1), TALLEST) + 6  # a curve's top: 3/4 of level
    words = row.words
    curves = []
    for source, gold, drawn, right in pairs:
        for end in gold:
            title = f"annotation: {words[source]} and {words[end]}"
            curves.append(Curve(_arc(middles, source, end, reach, up=True), "gold", title))
        if drawn >= 0:
            kind = "right" if right else "wrong"
            title = f"head ({kind}): {words[source]} and {words[drawn]}"
            curves.append(Curve(_arc(middles, source, drawn, reach, up=False), kind, title))
    beyond = sum(drawn < 0 for _, _, drawn, _ in pairs)
    placed = list(zip(middles, words, strict=True))
    height = 2 * reach + 26
    line = reach + 17
    hits = sum(row.right)
    return Picture(row.example, width, height, line, placed, curves, hits, len(pairs), beyond)


def _places(words: list[str]) -> tuple[list[float], float]:
    """The middle of each word, and the width of all."""
    middles, x = [], GAP / 2
    for word in words:
        wide = sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in word)
        size = SIGN * max(wide, 1)
        middles.append(x + size / 2)
        x += size + GAP
    return middles, x


def _arc(middles: list[float], source: int, end: int, reach: float, up: bool) -> str:
    """A path from the word asked about to the other, with an arrow's head at the other."""
    level = LEVEL * min(abs(source - end), TALLEST)
    base = reach + 3 if up else reach + 23
    top = base - level if up else base + level
    start, stop = middles[source], middles[end]
    tip = 4 if up else -4
    left, right, back = f"{stop - 3:.1f}", f"{stop + 3:.1f}", f"{base - tip:.1f}"
    arrow = f"M{left} {back}L{stop:.1f} {base:.1f}L{right} {back}"
    curve = f"M{start:.1f} {base:.1f}C{start:.1f} {top:.1f} {stop:.1f} {top:.1f} {stop:.1f}"
    return f"{curve} {base:.1f}{arrow}"
