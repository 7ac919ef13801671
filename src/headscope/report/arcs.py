"""A sentence with the arcs of the annotation above it and those that a head draws below."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from headscope._util.naming import head_name
from headscope.evidence.example_tables import ArcsRow

SIGN = 7.4
"""Width of a letter, in pixels; a wide one (Chinese, Korean) has twice that."""
GAP = 14
LEVEL = 9
"""Height of an arc for each word that it spans."""
TALLEST = 12
APART = 74
"""Between two sentences that are linked, in pixels."""


@dataclass(frozen=True)
class Curve:
    """One arc: its path, what kind it is (`gold`, `right`, `wrong`), and what it says."""

    path: str
    kind: str
    title: str


@dataclass(frozen=True)
class Picture:
    """A sentence, or two, as a drawing.

    Attributes:
        words: where each stands (its middle, its line), and the word.
        head: the name of the head.
    """

    example: str
    width: float
    height: float
    words: list[tuple[float, float, str]]
    curves: list[Curve]
    right: int
    asked: int
    beyond: int
    two_texts: bool = False
    head: str = ""

    @property
    def caption(self) -> str:
        """How well the head does on this sentence."""
        note = "; the head looks at none of these words" if self.beyond else ""
        return f"{self.right} of {self.asked} right{note}"


def picture(row: ArcsRow) -> Picture:
    """Draw a row of arcs.parquet."""
    if row.queries:
        return _two_sentences(row)
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
    placed = [(middle, reach + 17, word) for middle, word in zip(middles, words, strict=True)]
    height = 2 * reach + 26
    hits = sum(row.right)
    counts = (hits, len(pairs), beyond)
    return Picture(row.example, width, height, placed, curves, *counts, head=_head(row))


def _head(row: ArcsRow) -> str:
    return head_name(row.layer, row.head, row.attention)


def _two_sentences(row: ArcsRow) -> Picture:
    """The text that is looked at above, the text that looks below, links as lines between them."""
    (above, wide), (below, wider) = _places(row.words), _places(row.queries)
    top, bottom = 24, 24 + APART
    curves = []
    for source, gold, drawn, right in zip(row.source, row.gold, row.drawn, row.right, strict=True):
        for end in gold:
            title = f"annotation: {row.queries[source]} and {row.words[end]}"
            path = f"M{below[source] - 3:.1f} {bottom}L{above[end] - 3:.1f} {top}"
            curves.append(Curve(path, "gold", title))
        if drawn >= 0:
            kind = "right" if right else "wrong"
            title = f"head ({kind}): {row.queries[source]} and {row.words[drawn]}"
            path = f"M{below[source] + 1:.1f} {bottom}L{above[drawn] + 1:.1f} {top}"
            curves.append(Curve(path, kind, title))
    placed = [(middle, 17.0, word) for middle, word in zip(above, row.words, strict=True)]
    line = bottom + 15.0
    placed += [(middle, line, word) for middle, word in zip(below, row.queries, strict=True)]
    beyond = sum(drawn < 0 for drawn in row.drawn)
    size = (max(wide, wider), line + 9)
    counts = (sum(row.right), len(row.source), beyond)
    return Picture(row.example, *size, placed, curves, *counts, two_texts=True, head=_head(row))


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
