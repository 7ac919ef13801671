"""Tables of example texts: attention maps, and arcs from words to the words they attend to."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence.table import Int32, Table


@dataclass(frozen=True)
class MapRow:
    """The attention map of one head on one text.

    Attributes:
        tokens: of the text that is looked at; queries: of the text that looks, if it is another.
        map: uint8 (query, key), 255 for a weight of 1.
        shape, probability: the most probable label of the map, if an analysis classified it.
    """

    corpus: str
    weights: str
    example: str
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    tokens: list[str]
    map: bytes
    shape: str | None
    probability: float | None
    queries: list[str] | None = None


@dataclass(frozen=True)
class ArcsRow:
    """What a head does on one text that was chosen by its score.

    Attributes:
        words: of the text that is looked at; queries: of the text that looks, if it is another.
            Tokens where nothing is annotated.
        source: positions of the words from which links are predicted.
        gold: positions of the words that the annotation links each to.
        drawn: positions of the words that the head predicts (-1: none, or not displayed).
        right: whether the predictions agree with the annotation.
        weight: of the predictions, where they are single weights; otherwise empty.
        choice: `highest`, `typical` or `lowest`, among all texts that can be displayed.
        score: of the head on this text, by which it was chosen.
    """

    corpus: str
    weights: str
    analysis: str
    statistic: str
    group: str | None
    direction: str | None
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    example: str
    words: list[str]
    source: list[Int32]
    gold: list[list[Int32]]
    drawn: list[Int32]
    right: list[bool]
    queries: list[str] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    choice: str = ""
    score: float | None = None


MAPS = Table("maps", MapRow)
ARCS = Table("arcs", ArcsRow)
