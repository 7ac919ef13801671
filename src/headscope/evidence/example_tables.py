"""Tables of example texts: attention maps, and arcs from words to the words they attend to."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.evidence.table import Int32, Table


@dataclass(frozen=True)
class MapRow:
    """The attention map of one head on one text.

    Attributes:
        map: uint8 (query, key), 255 for a weight of 1.
        shape, probability: the most probable label of the map, if an analysis classified it.
    """

    corpus: str
    weights: str
    example: str
    layer: Int32
    head: Int32
    tokens: list[str]
    map: bytes
    shape: str | None
    probability: float | None


@dataclass(frozen=True)
class ArcsRow:
    """The predictions of a best head on one annotated text.

    Attributes:
        source: positions of the words from which links are predicted.
        gold: positions of the words that the annotation links each to.
        drawn: positions of the words that the head predicts (-1: none, or not displayed).
        right: whether the predictions agree with the annotation.
    """

    corpus: str
    weights: str
    analysis: str
    statistic: str
    group: str | None
    direction: str | None
    layer: Int32
    head: Int32
    example: str
    words: list[str]
    source: list[Int32]
    gold: list[list[Int32]]
    drawn: list[Int32]
    right: list[bool]


MAPS = Table("maps", MapRow)
ARCS = Table("arcs", ArcsRow)
